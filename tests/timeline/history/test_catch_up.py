"""Catching up: what came to home since its reader left off, all of it, as the oracle says."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.queries import user_by_id
from apps.audit.oracle import Oracle
from apps.engagement.actions import like_post
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import block_user, follow_user, mute_user
from apps.notifications.actions import mark_read
from apps.notifications.models import ReadMarker
from apps.posts.actions.publish import delete_post
from apps.timeline.history import catch_up as module
from apps.timeline.history.catch_up import catch_up, reactions
from feedcache.ids import first_id_at
from tests.support.factories import deliver, delivered, make_user, publish, repost

pytestmark = pytest.mark.django_db
PAGE, API = "/home/catch-up", "/api/x/catch_up"
HOME = ReadMarker.Timeline.HOME


@pytest.fixture(autouse=True)
def short_pages(monkeypatch):
    """Of home, so that few posts take several."""
    monkeypatch.setattr(module, "MAX_LIMIT", 4)


@pytest.fixture
def friends(bob):
    """Three more whom Bob follows."""
    made = [make_user(name) for name in ("dora", "emil", "fred")]
    for friend in made:
        follow_user(bob, friend)
    return made


@pytest.fixture
def busy(alice, bob, carol, friends):
    """What the rules of home decide about, above and below a mark, which is returned."""
    dora, emil, fred = friends
    publish(alice, "Before.")
    mark = publish(alice, "The mark.").pk
    for number in range(3):
        publish(alice, f"Number {number}.")
    publish(bob, "My own.")
    shared = publish(carol, "By a stranger.")
    repost(dora, shared.pk)
    publish(dora, "For followers.", visibility="followers")
    publish(dora, "A secret word.")
    publish(emil, "Muted.")
    publish(fred, "Blocked.")
    gone = publish(dora, "Gone.")
    deliver()
    delete_post(gone.pk, by=dora)
    mute_user(bob, emil)
    block_user(fred, bob)
    keyword = KeywordChange(keyword="secret")
    change = FilterChange(title="No secrets", places=["home"], act="hide", keywords=[keyword])
    create_filter(bob, change)
    deliver()
    return mark


def ids(items):
    return [item.id for item in items]


@pytest.mark.slow
def test_it_is_what_the_oracle_says_and_its_numbers_add_up(bob, busy):
    viewer = user_by_id(bob.pk)
    found = catch_up(viewer, busy)
    expected = [post_id for post_id in Oracle().home(bob.pk) if post_id > busy]
    assert len(expected) == 6
    assert ids(found.items) == expected
    assert (found.bound, found.older) == (None, None)
    shares = found.by_author
    assert sorted(post_id for share in shares for post_id in ids(share.items)) == sorted(expected)
    assert [(share.author.handle, len(share.items)) for share in shares] == [
        ("alice", 3),
        ("dora", 2),
        ("bob", 1),
    ]
    assert sorted(ids(found.by_reactions)) == sorted(expected)


def test_most_reactions_come_first_and_a_repost_has_those_of_its_post(alice, bob, carol):
    quiet = publish(alice, "Quiet.")
    shared = publish(carol, "Shared.")
    share = repost(alice, shared.pk)
    answered = publish(alice, "Answered.")
    publish(carol, "Yes.", reply_to_id=answered.pk)
    for _ in range(2):
        like_post(make_user(), shared.pk)
    deliver()
    found = catch_up(user_by_id(bob.pk), None)
    assert ids(found.by_reactions) == [share.pk, answered.pk, quiet.pk]
    assert list(map(reactions, found.by_reactions)) == [3, 1, 0]
    assert [share.reactions for share in found.by_author] == [4]


def test_more_than_a_page_takes_is_said_and_reachable(alice, bob, page_of, monkeypatch):
    monkeypatch.setattr(module, "MAX_PAGES", 2)
    mark = publish(alice, "The mark.").pk
    posts = [publish(alice, f"Number {number}.").pk for number in range(10)][::-1]
    deliver()
    found = catch_up(user_by_id(bob.pk), mark)
    assert (found.bound, ids(found.items)) == ("posts", posts[:8])
    mark_read(bob, mark, timeline=HOME)
    text = page_of(bob).get(PAGE).text
    assert "There is more: only the newest 8 are counted here." in text
    assert f'href="/?max_id={found.older}"' in text
    assert f'id="p{posts[8]}"' in page_of(bob).get(f"/?max_id={found.older}").text


def test_it_reaches_seven_days_down(alice, bob, page_of, api_of):
    delivered(alice, "New.")
    now = timezone.now()
    found = catch_up(user_by_id(bob.pk), first_id_at(int((now - timedelta(days=8)).timestamp())))
    assert found.bound == "days"
    assert timedelta(days=7) - (now - found.since) < timedelta(seconds=2)
    assert catch_up(user_by_id(bob.pk), None).bound is None
    mark_read(bob, 5, timeline=HOME)
    text = page_of(bob).get(PAGE).text
    assert "You left off further back than this page goes: it covers the last 7 days." in text
    assert 'href="/?max_id=' in text
    body = api_of(bob).get(API).json()
    assert (body["bound"], body["max_id"] is None) == ("days", False)


@pytest.mark.slow
def test_every_post_is_on_the_page_in_each_order(bob, busy, page_of):
    mark_read(bob, busy, timeline=HOME)
    browser, shown = page_of(bob), {item.shown.id for item in catch_up(bob, busy).items}
    for order in ("", "?by=author", "?by=reactions"):
        text = browser.get(PAGE + order).text
        rows = text.partition('<section class="sheet first"')[2].partition("<aside")[0]
        linked = {int(found) for found in re.findall(r'class="text" href="/@\w+/(\d+)"', rows)}
        assert linked == shown
        assert "6 posts by 3 accounts reached your home page." in text
        for hidden in ("Muted.", "Blocked.", "secret word", "Gone.", "Before."):
            assert hidden not in text
        assert "dora reposted" in text


def test_what_a_filter_warns_of_is_behind_its_title(alice, bob, page_of):
    keyword = KeywordChange(keyword="spider")
    create_filter(bob, FilterChange(title="Legs", places=["home"], act="warn", keywords=[keyword]))
    publish(alice, "A spider.")
    publish(alice, "Behind.", content_warning="Careful")
    deliver()
    text = page_of(bob).get(PAGE).text
    assert "Filtered: Legs" in text
    assert "Careful" in text
    assert "A spider." not in text
    assert "Behind." not in text


def test_nothing_new_and_nobody_followed(alice, bob, carol, page_of):
    post = delivered(alice, "Read.")
    mark_read(bob, post.pk, timeline=HOME)
    text = page_of(bob).get(PAGE).text
    assert "There is nothing new on your home page." in text
    assert "all caught up." in text
    assert "Mark all as read" not in text
    newcomer = page_of(carol).get(PAGE).text
    assert (
        "No reading position is saved for your home page yet, so this page covers the last 7 days."
        in newcomer
    )


def test_marking_all_as_read_empties_it(alice, bob, page_of):
    post = delivered(alice, "Unread.")
    browser = page_of(bob)
    assert f'name="last_read_id" value="{post.pk}"' in browser.get(PAGE).text
    browser.post("/home/marker", {"last_read_id": post.pk, "next": PAGE})
    assert "There is nothing new on your home page." in browser.get(PAGE).text


def test_the_page_takes_no_other_order_and_no_visitors(bob, page_of):
    assert page_of(bob).get(f"{PAGE}?by=luck").status_code == 400
    assert page_of(None).get(PAGE).status_code == 302


@pytest.mark.slow
def test_the_api_says_the_same(bob, busy, api_of):
    mark_read(bob, busy, timeline=HOME)
    body = api_of(bob).get(API).json()
    found = catch_up(user_by_id(bob.pk), busy)
    assert body["last_read_id"] == str(busy)
    assert (body["bound"], body["max_id"]) == (None, None)
    assert body["statuses_count"] == len(body["status_ids"]) == 6
    assert body["status_ids"] == [str(post_id) for post_id in ids(found.by_reactions)]
    accounts = body["accounts"]
    assert [(one["account"]["acct"], len(one["status_ids"])) for one in accounts] == [
        ("alice", 3),
        ("dora", 2),
        ("bob", 1),
    ]
    assert api_of(None).get(API).status_code == 401
