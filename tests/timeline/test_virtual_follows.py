"""Followers beside those of the graph: whom a delivery reaches, and that nothing is left of it without such an app."""

from copy import copy

import pytest
from django.core.exceptions import ImproperlyConfigured

from apps.accounts.queries import user_by_id
from apps.events.hooks import Hook
from apps.graph.actions import follow_user
from apps.pagination import Cursor
from apps.promotions.actions import state_trait
from apps.timeline.fanout import split
from apps.timeline.history.unread import newer_candidate_count
from apps.timeline.home import home_timeline
from apps.timeline.sources import outbox, sql, virtual_follows
from apps.timeline.sources.home_cache import HOME
from apps.timeline.sources.virtual_follows import (
    VIRTUAL_FOLLOWS,
    VirtualFollows,
    follower_chunks,
    follower_ids_between,
    followers_among,
)
from tests.promotions.conftest import (
    freshers,  # noqa: F401 -- a fixture
    make_campaign,
    shop,  # noqa: F401 -- a fixture
    side_by_side,  # noqa: F401 -- a fixture
    start,
)
from tests.support.factories import deliver, delivered, make_user, publish

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("side_by_side")]


@pytest.fixture
def readers(freshers, shop):  # noqa: F811 -- fixtures
    readers = [make_user() for _ in range(7)]
    for reader in readers:
        state_trait(reader, "first-year-student")
    start(make_campaign(shop, freshers))
    return readers


@pytest.fixture
def without_any(monkeypatch):
    """As on a site without an app that has virtual follows."""
    monkeypatch.setattr(virtual_follows, "VIRTUAL_FOLLOWS", Hook())


@pytest.mark.slow
def test_chunks_cover_all_virtual_followers_once(readers, shop):  # noqa: F811 -- a fixture
    chunks = follower_chunks(shop.pk, size=3)
    assert [number for _first, _last, number in chunks] == [3, 3, 1]
    found = [
        user_id
        for first, last, _number in chunks
        for user_id in follower_ids_between(shop.pk, first_edge=first, last_edge=last)
    ]
    assert sorted(map(int, found)) == sorted(reader.pk for reader in readers)
    rest = follower_chunks(shop.pk, size=3, after=chunks[0][1], maximum=1)
    assert rest == [chunks[1]]


def test_an_account_without_any_has_no_chunks(shop):  # noqa: F811 -- a fixture
    assert follower_chunks(shop.pk, size=3) == []
    assert follower_ids_between(shop.pk, first_edge=1, last_edge=9) == []


@pytest.mark.slow
def test_without_an_app_there_are_none(readers, shop, without_any, django_assert_num_queries):  # noqa: F811 -- a fixture
    reader = readers[0].pk
    with django_assert_num_queries(0):
        assert follower_chunks(shop.pk, size=3) == []
        assert followers_among(shop.pk, [reader]) == set()
        assert virtual_follows.followee_ids(reader) == ()
        assert virtual_follows.without_virtual(reader, [7], revision=1) == {7}
    assert follower_ids_between(shop.pk, first_edge=1, last_edge=10**9) == []
    assert split.audience_sizes(shop.pk) == (0, 0)


@pytest.mark.slow
def test_without_an_app_pages_and_deliveries_have_the_follows_of_the_graph(
    readers,
    shop,  # noqa: F811 -- a fixture
    without_any,
):
    reader, friend = readers[0], make_user()
    home_timeline(reader, Cursor())
    follow_user(reader, friend)
    publish(shop)
    post = delivered(friend)
    assert [item.id for item in home_timeline(user_by_id(reader.pk), Cursor()).items] == [post.pk]
    assert HOME.ids(reader.pk) == [post.pk]
    for ids in (sql.home_ids, sql.open_home_ids, sql.home_ids_nearby, outbox.ids_of_followees):
        assert ids(reader.pk, Cursor(), 10) == [post.pk]
    assert newer_candidate_count(user_by_id(reader.pk), 1) == 1
    deliver()


def test_a_second_app_that_wants_them_stops_the_start():
    assert [one.table for one in VIRTUAL_FOLLOWS] == ["promotions_virtualfollow"]
    follows = copy(VIRTUAL_FOLLOWS)
    with pytest.raises(ImproperlyConfigured):
        follows.add(VirtualFollows("other_follow", lambda _reader: ()))
