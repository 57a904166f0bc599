"""Cached cards: what the template would make of them now,
the same for all who may see the same, and never of restricted posts.
"""

from dataclasses import replace
from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth.models import AnonymousUser
from django.template import Engine, engines
from django.utils import timezone, translation

from apps.accounts.actions import update_profile
from apps.accounts.queries import user_by_id
from apps.engagement.actions import like_post, unlike_post, vote
from apps.graph.actions import block_user, follow_user, unblock_user
from apps.pagination import Cursor
from apps.posts.actions.drafts import PollDraft
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.models import Counts
from apps.ranking.algorithms import Part, Scored
from apps.ranking.ordering import Entry
from apps.ranking.scoring import light
from apps.timeline.home import home_timeline
from apps.timeline.thread import ReplyRow
from apps.web import post_card
from apps.web.post_card import PostCard, Viewer, card_of
from tests.support.factories import deliver, delivered, make_user, publish, repost

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("memcached")]

CARDS = "{% load cards %}{% feed_cards items %}"
FOCUSED = "{% load cards %}{% focused_card items.0 2 %}{% ancestor_card items.1 1 %}"
THREAD = "{% load cards %}{% thread_cards items %}"


def items_of(viewer):
    return home_timeline(user_by_id(viewer.pk), Cursor()).items


def rendered(source, rf, viewer, items, *, path="/", token="t" * 64, **more):
    request = rf.get(path)
    request.user = viewer or AnonymousUser()
    values = {"items": items, "viewer": viewer, "csrf_token": token, **more}
    return engines["django"].from_string(source).render(values, request)


@pytest.fixture
def same(rf, monkeypatch):
    """Renders twice from the cache and once without; the same text, which it returns."""

    def render(viewer, items, *, source=CARDS, **more):
        texts = [rendered(source, rf, viewer, items, **more) for _ in range(2)]
        with monkeypatch.context() as patch:
            patch.setattr(post_card, "_render_cached", post_card._render)
            texts.append(rendered(source, rf, viewer, items, **more))
        assert texts[0] == texts[1] == texts[2]
        return texts[0]

    return render


@pytest.fixture(autouse=True)
def _empty_cache():
    post_card._render_cached.cache_clear()
    yield
    post_card._render_cached.cache_clear()


def cached():
    return post_card._render_cached.cache_info().currsize


@pytest.fixture
def shown(alice, bob, carol):
    """A page for bob: plain, with a warning, restricted, a poll's place left out, a repost, a reply, a quote."""
    follow_user(bob, carol)
    posts = [publish(alice, f"Number {number} of #many.") for number in range(4)]
    publish(alice, "Careful.", content_warning="Spiders <b>")
    publish(alice, "For you.", visibility="followers")
    publish(carol, quote_of_id=posts[0].pk)
    publish(carol, "Yes.", reply_to_id=posts[1].pk)
    repost(carol, publish(make_user("dora"), "Shared.").pk)
    deliver()
    return posts


@pytest.mark.slow
def test_a_cached_card_is_the_rendered_card(shown, bob, same):
    items = items_of(bob)
    assert len(items) == 9
    page = same(bob, items)
    for path in ("/", "/?max_id=5&b=1"):
        for token in ("t" * 64, "u" * 64):
            assert same(bob, items, path=path, token=token) == page
    assert same(None, items) != page
    with translation.override("zh-hans"):
        assert same(bob, items) != page
    same(bob, items[::-1])  # every card in another place
    assert same(bob, items) == page


@pytest.mark.slow
def test_the_post_of_a_thread_is_the_rendered_one(shown, alice, bob, same):
    for viewer in (bob, alice):
        for item in items_of(viewer):
            assert "focused" in same(viewer, [item, item], source=FOCUSED)


@pytest.mark.slow
def test_what_changes_is_seen(shown, alice, bob, carol, same):
    first = same(bob, items_of(bob))
    like_post(bob, shown[0].pk)
    liked = same(bob, items_of(bob))
    assert liked.count('aria-pressed="true"') == first.count('aria-pressed="true"') + 1
    unlike_post(bob, shown[0].pk)
    assert same(bob, items_of(bob)) == first
    edit_post(alice, shown[1].pk, body="Rewritten.")
    assert "Rewritten." in same(bob, items_of(bob))
    update_profile(carol, display_name="Caroline")
    assert "Caroline" in same(bob, items_of(bob))


def test_restricted_posts_are_never_cached(shown, alice, bob, same):
    items = items_of(bob)
    page = same(bob, items)
    assert "For you." in page
    open_ones = [item for item in items if item.post.is_open and item.shown.post.is_open]
    assert len(open_ones) == len(items) - 1
    assert any(item.quoted for item in open_ones)
    assert cached() == len(open_ones)
    viewer = Viewer.of(bob)
    assert [card_of(item, viewer).is_cached for item in items] == [
        item in open_ones for item in items
    ]


@pytest.mark.slow
def test_what_is_quoted_from_few_is_never_cached(shown, bob, same):
    [item] = [item for item in items_of(bob) if item.quoted]
    quoted = item.quoted._replace(post=replace(item.quoted.post, visibility="followers"))
    same(bob, [item._replace(source=quoted)])
    assert not cached()


@pytest.mark.slow
def test_what_a_filter_warns_of_pushes_out_no_card_of_everybody(shown, bob, same):
    [item] = [item for item in items_of(bob) if item.quoted]
    same(bob, [item._replace(warnings=("Spiders",))])
    assert not cached()
    before = post_card._render_filtered.cache_info().hits
    same(bob, [item._replace(warnings=("Spiders",)), item._replace(warnings=("Snakes",))])
    assert post_card._render_filtered.cache_info().hits > before


def test_readers_who_may_do_the_same_share_a_card(shown, alice, bob, carol, same):
    item = items_of(bob)[-1]
    page = same(bob, [item])
    assert same(make_user("erin"), [item]) == page
    assert cached() == 1
    for other in (
        item.flags._replace(own=True),
        item.flags._replace(liked=True),
        item.flags._replace(muted=True),
    ):
        assert same(bob, [item._replace(flags=other)]) != page
    assert cached() == 4
    assert same(bob, [item]) == page


def test_a_card_has_every_count_but_those_that_no_card_shows(shown, alice, bob):
    numbered = Counts(*range(1, len(Counts._fields) + 1))
    item = items_of(bob)[-1]._replace(counts=numbered)
    for_others = card_of(item, Viewer.of(bob)).item.counts
    assert for_others == numbered._replace(bookmarks=0, quotes=0, reads=0)
    own = item._replace(flags=item.flags._replace(own=True))
    assert card_of(own, Viewer.of(alice)).item.counts == numbered._replace(bookmarks=0, quotes=0)


def test_who_may_quote_is_no_other_readers_affair(alice, bob, carol, same):
    follow_user(bob, alice)
    delivered(alice, "Ask first.", quote_policy="followers")
    [item] = items_of(bob)
    stranger = item._replace(follows_author=False)
    assert "data-quote" in same(bob, [item])
    assert "data-quote" not in same(carol, [stranger])
    assert "data-quote" in same(bob, [item])


def test_no_token_is_in_a_card_that_others_get(alice, bob, same):
    follow_user(bob, alice)
    delivered(alice, "Tea?", poll=PollDraft(["Yes", "No"], 3600))
    delivered(alice, "No question.")
    pages = [same(bob, items_of(bob), token=token * 64) for token in "tu"]
    assert [page.count("t" * 64) for page in pages] == [1, 0]
    assert [page.count("u" * 64) for page in pages] == [0, 1]
    assert cached() == 1


def test_a_template_knows_nothing_but_its_card(shown, bob, rf, monkeypatch):
    contexts = []

    class Template:
        def render(self, context):
            contexts.append(context.flatten().keys() - {"True", "False", "None"})
            return ""

    monkeypatch.setattr(Engine, "get_template", lambda _self, _name: Template())
    assert card_of(items_of(bob)[0], Viewer.of(bob)).html == ""
    assert contexts == [set(PostCard._fields)]


@pytest.mark.slow
def test_what_a_card_quotes_is_seen_as_it_is_now(alice, bob, carol, same):
    follow_user(bob, carol)
    quoted = publish(alice, "As it was.")
    publish(carol, "Look.", quote_of_id=quoted.pk)
    deliver()
    assert "As it was." in same(bob, items_of(bob))
    edit_post(alice, quoted.pk, body="As it is.")
    assert "As it is." in same(bob, items_of(bob))
    update_profile(alice, display_name="Alicia")
    assert "Alicia" in same(bob, items_of(bob))
    with time_machine.travel(timezone.now() + timedelta(hours=5)):
        assert same(bob, items_of(bob)).count("5h") >= 2
    block_user(alice, bob)
    assert "Alicia" not in same(bob, items_of(bob))
    unblock_user(alice, bob)
    delete_post(quoted.pk, by=alice)
    assert 'class="quote lost"' in same(bob, items_of(bob))


def test_a_card_that_only_grows_older_is_not_rendered_again(alice, bob, carol, same):
    follow_user(bob, carol)
    quoted = publish(alice, "As it was.")
    publish(carol, "Look.", quote_of_id=quoted.pk)
    post = publish(carol, "Once.")
    edit_post(carol, post.pk, body="Twice.")
    deliver()
    now = timezone.now()
    made = []
    for hours in (1, 5, 30):
        with time_machine.travel(now + timedelta(hours=hours), tick=False):
            page = same(bob, items_of(bob))
        age = "yesterday" if hours > 24 else f"{hours}h"
        assert page.count(f">{age}</time>") == 4
        assert f"Edited {age}" in page
        assert "\0" not in page
        made.append(post_card._render_cached.cache_info().misses)
    assert made == [3, 3, 3]


@pytest.mark.slow
def test_how_a_poll_stands_is_seen(alice, bob, carol, same):
    for reader in (bob, carol):
        follow_user(reader, alice)
    post = publish(alice, "Tea?", poll=PollDraft(["Yes", "No"], 3600)).pk
    deliver()
    assert 'name="choices"' in same(bob, items_of(bob))
    vote(carol, post, [0])
    assert "1 person voted" in same(bob, items_of(bob))
    assert "Your vote" in same(carol, items_of(carol))
    with time_machine.travel(timezone.now() + timedelta(hours=2)):
        assert "The poll is over" in same(bob, items_of(bob))


@pytest.mark.slow
def test_how_a_card_stands_in_a_thread_and_on_a_profile(shown, bob, same):
    item = items_of(bob)[-1]
    for joined, folded in ((True, 0), (False, 0), (False, 3)):
        page = same(
            bob, [ReplyRow(item, in_thread=True, joined=joined, folded=folded)], source=THREAD
        )
        assert ("thread-top" in page) == joined
        assert ("Show 3 more replies" in page) == bool(folded)
    pinned = "{% load cards %}{% feed_cards items pinned=True %}"
    assert same(bob, [item], source=pinned).count("Pinned") == 1


def test_what_is_said_below_a_card(shown, bob, rf):
    item, made = items_of(bob)[-1], []
    for values in ((0.25, 0.75, 1.0), (0.5, 0.5, 0.5)):
        parts = zip(light.factors, values, (0.45, 0.3, 0.25), strict=True)
        scored = Scored(item.id, item.id, tuple(Part(*part) for part in parts))
        entries = [Entry(item, scored, 7)]
        page = rendered("{% load ranking %}{% ranked_cards items %}", rf, bob, entries, why=True)
        assert f"<td><b>{scored.score:.2f}</b></td>" in page
        assert 'aria-posinset="7"' in page
        made.append(post_card._render_cached.cache_info().misses)
    assert made[0] == made[1], "the card itself is the cached one, whatever its score"
    assert "<details" not in rendered(
        "{% load ranking %}{% ranked_cards items %}", rf, bob, entries
    )
