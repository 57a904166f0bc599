"""Kept cards are what the template would make of them now."""

import html
from datetime import timedelta
from urllib.parse import quote

import pytest
import time_machine
from django.contrib.auth.models import AnonymousUser
from django.template import engines
from django.utils import timezone, translation
from django.utils.html import escape

from apps.accounts.actions import update_profile
from apps.accounts.queries import user_by_id
from apps.caches.memcached.tiers import tiers
from apps.engagement.actions import like_post, unlike_post
from apps.engagement.voting import vote
from apps.graph.actions import block_user, follow_user, unblock_user
from apps.paging import Cursor
from apps.posts.actions import delete_post, repost
from apps.posts.drafts import PollDraft
from apps.posts.editing import edit_post
from apps.ranking import views as ranked
from apps.ranking.scoring import Preset, Scored
from apps.timeline.folding import Row
from apps.timeline.home import home_timeline
from apps.timeline.templatetags.feed import VARIANTS
from tests.factories import deliver, make_user, publish

pytestmark = pytest.mark.django_db

KEPT = "{% load feed %}{% feed_cards items %}"
PLAIN = '{% for item in items %}{% include "timeline/_card.html" with position=forloop.counter %}{% endfor %}'


@pytest.fixture(autouse=True)
def _needs_memcached():
    if not tiers().ping():
        pytest.skip("no memcached on this machine")


def items_of(viewer):
    return home_timeline(user_by_id(viewer.pk), Cursor()).items


def drawn(source, rf, viewer, items, *, path="/", token="t" * 64):
    request = rf.get(path)
    request.user = viewer or AnonymousUser()
    values = {"items": items, "viewer": viewer, "csrf_token": token}
    return engines["django"].from_string(source).render(values, request)


FOCUSED = "{% load feed %}{% focused_card items.0 2 %}{% ancestor_card items.1 1 %}"
FOCUSED_PLAIN = (
    '{% include "timeline/_focused.html" with item=items.0 position=2 whole=True %}'
    '{% include "timeline/_card.html" with item=items.1 position=1 joined=True in_thread=True %}'
)


def same(rf, viewer, items, **more):
    kept = [drawn(KEPT, rf, viewer, items, **more) for _ in range(2)]
    assert kept[0] == kept[1] == drawn(PLAIN, rf, viewer, items, **more)
    return kept[0]


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


def test_a_kept_card_is_the_rendered_card(shown, bob, rf):
    items = items_of(bob)
    assert len(items) == 9
    for path in ("/", "/?max_id=5&b=1"):
        for token in ("t" * 64, "u" * 64):
            page = same(rf, bob, items, path=path, token=token)
            assert page.count(token) > 20
    assert drawn(KEPT, rf, None, items) == drawn(PLAIN, rf, None, items)
    with translation.override("zh-hans"):
        same(rf, bob, items)
    same(rf, bob, items[::-1])  # every card in another place
    same(rf, bob, items)


def test_the_post_of_a_thread_is_the_rendered_one(shown, alice, bob, rf):
    for viewer in (bob, alice):
        for item in items_of(viewer):
            for _ in range(2):
                pair = [item, item]
                assert drawn(FOCUSED, rf, viewer, pair) == drawn(FOCUSED_PLAIN, rf, viewer, pair)


def test_what_changes_is_seen(shown, alice, bob, carol, rf):
    first = same(rf, bob, items_of(bob))
    like_post(bob, shown[0].pk)
    liked = same(rf, bob, items_of(bob))
    assert liked.count('aria-pressed="true"') == first.count('aria-pressed="true"') + 1
    unlike_post(bob, shown[0].pk)
    assert same(rf, bob, items_of(bob)) == first
    edit_post(alice, shown[1].pk, body="Rewritten.")
    assert "Rewritten." in same(rf, bob, items_of(bob))
    update_profile(carol, display_name="Caroline")
    assert "Caroline" in same(rf, bob, items_of(bob))


def test_restricted_posts_are_never_kept(shown, bob, rf):
    items = items_of(bob)
    same(rf, bob, items)
    kept = [item for item in items if "cards" in item.shown.post.derived]
    assert kept
    assert all(item.post.is_open and item.shown.post.is_open for item in kept)
    assert any(item.quoted for item in kept)


def test_what_a_card_quotes_is_seen_as_it_is_now(alice, bob, carol, rf):
    follow_user(bob, carol)
    quoted = publish(alice, "As it was.")
    publish(carol, "Look.", quote_of_id=quoted.pk)
    deliver()
    assert "As it was." in same(rf, bob, items_of(bob))
    edit_post(alice, quoted.pk, body="As it is.")
    assert "As it is." in same(rf, bob, items_of(bob))
    update_profile(alice, display_name="Alicia")
    assert "Alicia" in same(rf, bob, items_of(bob))
    with time_machine.travel(timezone.now() + timedelta(hours=5)):
        assert same(rf, bob, items_of(bob)).count("5h") >= 2
    block_user(alice, bob)
    assert "Alicia" not in same(rf, bob, items_of(bob))
    unblock_user(alice, bob)
    delete_post(quoted.pk, by=alice)
    assert "isn't available" in html.unescape(same(rf, bob, items_of(bob)))


def test_how_a_poll_stands_is_seen(alice, bob, carol, rf):
    for reader in (bob, carol):
        follow_user(reader, alice)
    post = publish(alice, "Tea?", poll=PollDraft(["Yes", "No"], 3600)).pk
    deliver()
    assert 'name="choices"' in same(rf, bob, items_of(bob))
    vote(carol, post, [0])
    assert "1 person voted" in same(rf, bob, items_of(bob))
    assert "Your vote" in same(rf, carol, items_of(carol))
    with time_machine.travel(timezone.now() + timedelta(hours=2)):
        assert "The poll is over" in same(rf, bob, items_of(bob))


def test_only_so_many_variants_of_a_card_are_kept(shown, bob, rf):
    item = items_of(bob)[-1]
    for number in range(3 * VARIANTS):
        rows = [Row(item, in_thread=False, joined=False, folded=number)]
        drawn("{% load feed %}{% thread_cards items %}", rf, bob, rows)
    assert 0 < len(item.post.derived["cards"]) <= VARIANTS


def test_pages_share_a_card_and_each_has_its_own_way_back(shown, bob, rf):
    item = items_of(bob)[-1]
    for path in ("/", "/?max_id=5&b=1", "/@alice"):
        page = same(rf, bob, [item], path=path)
        assert f'value="{escape(path)}"' in page
        assert f"?next={quote(path)}" in page
    assert len(item.post.derived["cards"]) == 1


def test_how_a_card_stands_in_a_thread_and_on_a_profile(shown, bob, rf):
    item = items_of(bob)[-1]
    threads = '{% for row in items %}{% include "timeline/_card.html" with item=row.item in_thread=row.in_thread joined=row.joined folded=row.folded position=forloop.counter %}{% endfor %}'
    for joined, folded in ((True, 0), (False, 0), (False, 3)):
        rows = [Row(item, in_thread=True, joined=joined, folded=folded)]
        made = [drawn("{% load feed %}{% thread_cards items %}", rf, bob, rows) for _ in range(2)]
        assert made[0] == made[1] == drawn(threads, rf, bob, rows)
    assert drawn("{% load feed %}{% feed_cards items pinned=True %}", rf, bob, [item]).count("Pinned") == 1  # fmt: skip


def test_what_is_said_below_a_card(shown, bob, rf):
    item = items_of(bob)[-1]
    for scored in (Scored(item.id, 0.5, 0.25, 0.75, 1.0), Scored(item.id, 0.25, 0.5, 0.5, 0.5)):
        said = [ranked.Row.explained(item, 7, scored, Preset.BALANCED)]
        page = drawn("{% load feed %}{% explained_cards items %}", rf, bob, said)
        assert f"<td><b>{scored.score:.2f}</b></td>" in page
        assert 'aria-posinset="7"' in page
    plain = [ranked.Row(item, 7, Scored(item.id, 0.5, 0.25, 0.75, 1.0))]
    assert "<details" not in drawn("{% load feed %}{% explained_cards items %}", rf, bob, plain)
