"""What authors of quoted posts decide: that a quote shows their post no more."""

import pytest

from apps.errors import Invalid, NotFound
from apps.moderation.actions import mark_sensitive
from apps.pagination import Cursor
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post
from apps.timeline.publishing import revoke_quote, set_quote_policy
from apps.timeline.thread import quotes_timeline, visible_item
from tests.support.factories import deliver, moderator, publish, repost
from tests.support.pages import ids

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("memcached")]


def item(viewer, post):
    return visible_item(viewer.pk, post.pk)


def test_a_revoked_quote_is_a_quote_of_nothing(alice, bob, carol):
    quoted = publish(alice, "Mine")
    quote = publish(bob, "Look", quote_of_id=quoted.pk)
    assert item(carol, quote).quoted.id == quoted.pk  # and is cached
    before = item(carol, quote).post.version
    revoke_quote(alice, quoted.pk, quote.pk)
    for reader in (alice, bob, carol):
        seen = item(reader, quote)
        assert (seen.quoted, seen.lost_quote, seen.post.body) == (None, True, "Look")
        assert seen.post.version == before + 1
    assert item(carol, quoted).counts.quotes == 0
    assert quotes_timeline(carol, quoted.pk, Cursor()).items == []


def test_a_writer_that_died_before_it_updated_the_caches_leaves_nothing_stale(
    alice, bob, carol, monkeypatch
):
    quoted = publish(alice, "Mine")
    quote = publish(bob, "Look", quote_of_id=quoted.pk)
    deliver()
    for module in ("quotes", "edit"):
        monkeypatch.setattr(f"apps.posts.actions.{module}.cache_edited", lambda *_what: None)
    assert item(carol, quote).quoted.id == quoted.pk
    revoke_quote(alice, quoted.pk, quote.pk)
    set_quote_policy(alice, quoted.pk, "nobody")
    mark_sensitive(quote.pk, by=moderator())
    deliver()
    seen = item(carol, quote)
    assert (seen.quoted, seen.post.sensitive) == (None, True)
    assert item(carol, quoted).post.quote_policy == "nobody"


def test_a_repost_of_it_shows_nothing_either(alice, bob, carol):
    quoted = publish(alice, "Mine")
    shared = repost(carol, publish(bob, "Look", quote_of_id=quoted.pk).pk)
    assert item(carol, shared).shown.quoted.id == quoted.pk
    revoke_quote(alice, quoted.pk, Post.objects.get(kind="quote").pk)
    assert item(carol, shared).shown.quoted is None


def test_an_edit_does_not_bring_it_back(alice, bob):
    quoted = publish(alice, "Mine")
    quote = publish(bob, "Look", quote_of_id=quoted.pk)
    revoke_quote(alice, quoted.pk, quote.pk)
    edit_post(bob, quote.pk, body="Look again")
    assert item(alice, quote).lost_quote
    delete_post(quote.pk, by=bob)
    assert item(alice, quoted).counts.quotes == 0  # not one below


def test_only_the_quoted_author_may_and_only_what_they_see(alice, bob, carol):
    quoted, other = publish(alice, "Mine"), publish(alice, "Another")
    quote = publish(bob, "Look", quote_of_id=quoted.pk)
    hidden = publish(carol, "Look", quote_of_id=quoted.pk, visibility="followers")
    for owner, post, of in (
        (bob, quoted, quote),
        (carol, quoted, quote),
        (alice, other, quote),
        (alice, quoted, hidden),
        (alice, quoted, quoted),
    ):
        with pytest.raises(NotFound):
            revoke_quote(owner, post.pk, of.pk)
    revoke_quote(alice, quoted.pk, quote.pk)
    with pytest.raises(NotFound):  # it quotes nothing any more
        revoke_quote(alice, quoted.pk, quote.pk)


def test_the_menu_of_a_card_offers_it_to_the_quoted_author(alice, bob, carol, page_of):
    quoted = publish(alice, "Mine")
    quote = publish(bob, "Look", quote_of_id=quoted.pk)
    action = f"/posts/{quote.pk}/revoke_quote"
    quotes = f"/@alice/{quoted.pk}/quotes"
    assert action in page_of(alice).get(quotes).text
    for reader in (bob, carol, None):
        assert action not in page_of(reader).get(quotes).text
    assert page_of(carol).post(action).status_code == 404
    page_of(alice).post(action)
    page = page_of(carol).get(f"/@bob/{quote.pk}").text
    assert "The quoted post isn't available." in page
    assert ids(quotes_timeline(alice, quoted.pk, Cursor())) == []


def test_an_edit_for_mentioned_people_goes_on_naming_the_quoted_author(alice, bob, carol):
    quoted, own = publish(alice, "Mine"), publish(bob, "My own")
    quote = publish(bob, "@carol @alice", quote_of_id=quoted.pk, visibility="mentioned")
    with pytest.raises(Invalid) as refused:
        edit_post(bob, quote.pk, body="@carol behind her back")
    assert refused.value.code == "not_mentioned"
    assert item(alice, quote).post.body == "@carol @alice"
    edit_post(bob, quote.pk, body="@alice alone")
    of_own = publish(bob, "@carol", quote_of_id=own.pk, visibility="mentioned")
    edit_post(bob, of_own.pk, body="@alice")
    revoke_quote(alice, quoted.pk, quote.pk)
    edit_post(bob, quote.pk, body="@carol, it quotes nothing")
