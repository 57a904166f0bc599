"""Cursors: the article's scenario, and cursors whose posts are gone or share their second."""

import pytest

from apps.graph.actions import follow_user, mute_user
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.timeline.home import home_timeline
from tests.support.factories import deliver, delivered, make_user, publish
from tests.timeline.test_home import bulk_posts

pytestmark = pytest.mark.django_db


def page(viewer, **bounds):
    found = home_timeline(viewer, Cursor(**bounds))
    return [item.id for item in found.items], found


@pytest.mark.long
@pytest.mark.gate
def test_the_second_page_repeats_nothing_when_an_eleventh_article_comes(alice, bob):
    """Source 001: with limit and offset, page two shows article 6 again."""
    articles = [publish(alice, f"article {number}").pk for number in range(1, 11)]
    deliver()
    first, found = page(bob, limit=5)
    delivered(alice, "article 11")
    second, last = page(bob, max_id=found.older, limit=5)
    assert first + second == articles[::-1]
    assert last.older is None


@pytest.mark.slow
def test_a_cursor_needs_no_post_behind_it(alice, bob):
    """Source 001: the id as a cursor is troublesome when the post was deleted; ours contains its time."""
    posts = [publish(alice, f"number {number}").pk for number in range(9)][::-1]
    deliver()
    first, found = page(bob, limit=3)
    delete_post(first[-1], by=alice)
    deliver()
    second, found = page(bob, max_id=found.older, limit=3)
    assert second == posts[3:6]
    delete_post(second[0], by=alice)
    delete_post(second[-1], by=alice)
    deliver()
    assert page(bob, max_id=found.older, limit=3)[0] == posts[6:]
    assert page(bob, min_id=second[0], limit=2)[0] == posts[:2]  # and upwards
    assert page(bob, max_id=posts[1], limit=1)[0] == [
        posts[4]
    ]  # of a post that is there: without it
    assert page(bob, min_id=posts[1], limit=1)[0] == [posts[0]]


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("per_second", [pytest.param(1, marks=pytest.mark.long), 16])
@pytest.mark.parametrize("upwards", [False, True])
def test_no_cursor_names_a_post_that_was_left_out(alice, bob, upwards, per_second):
    """Not even where a page ends within many of them: their ids in an address would tell that they are there."""
    muted = make_user()
    follow_user(bob, muted)
    mute_user(bob, muted)
    oldest = bulk_posts(alice, 1, start=1_740_000_000)
    left_out = set(bulk_posts(muted, 2000, start=1_740_000_100, per_second=per_second))
    newest = bulk_posts(alice, 1, start=1_740_010_000)
    found, cursors, bound = [], [], 1 if upwards else None
    while len(found) < 2:
        items, now = page(bob, limit=5, **{"min_id" if upwards else "max_id": bound})
        found += items
        bound = now.newer if upwards else now.older
        cursors.append(bound)
        assert len(cursors) < 40
    assert sorted(found) == sorted(oldest + newest)
    assert len(cursors) > 2
    assert left_out.isdisjoint(cursors)
