"""Pages of people from Redis: the same as from PostgreSQL, and without it for the ids."""

from dataclasses import replace
from itertools import product

import pytest

from apps.accounts.models import UserCounts
from apps.accounts.queries import user_by_id
from apps.graph import cache
from apps.graph.actions import block_user, follow_user, mute_user, unfollow_user
from apps.graph.cache import (
    FOLLOWED,
    FOLLOWERS,
    FOLLOWERS_LIST,
    FOLLOWING_LIST,
    RELATIONS,
    load_list,
    load_sets,
)
from apps.graph.models import Followee, Follower
from apps.graph.queries import Relations, followers_page, following_page, relations
from apps.pagination import Cursor
from feedcache.connections import graph
from tests.graph.warm import measured
from tests.support import pages
from tests.support.factories import make_follow, make_user
from tests.support.faults import dead_redis

LISTS = [(followers_page, Follower, "follower_id"), (following_page, Followee, "followee_id")]


pytestmark = pytest.mark.django_db(transaction=True)  # caches are written after commits


@pytest.fixture
def star(alice, settings, monkeypatch):
    """Followed by twelve, and following them; the heads of the lists hold five."""
    settings.GRAPH_LIST_FROM = 4
    for name in ("FOLLOWERS_LIST", "FOLLOWING_LIST"):
        heads = replace(getattr(cache, name), length=5)
        monkeypatch.setattr(cache, name, heads)
        monkeypatch.setattr(f"apps.graph.queries.{name}", heads)
    for _ in range(12):
        one = make_user()
        make_follow(one, alice)
        make_follow(alice, one)
    return alice


def by_sql(model, column, owner):
    return list(model.objects.filter(owner=owner).order_by("-pk").values_list(column, flat=True))


def walk(query, owner, *, limit):
    return pages.walk(lambda cursor: query(user_by_id(owner.pk), None, cursor), limit)


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize(("query", "model", "column"), LISTS)
def test_a_list_is_walked_from_redis_into_postgresql_without_loss(
    star, query, model, column, subtests
):
    for limit in (1, 2, 3, 4, 5, 6, 11, 12, 13):
        graph().flushall()
        with subtests.test(limit=limit):
            for _ in range(2):
                assert walk(query, star, limit=limit) == by_sql(model, column, star)


@pytest.mark.parametrize(("query", "model", "column"), LISTS)
def test_a_warm_page_asks_postgresql_for_the_people_only(star, query, model, column, monkeypatch):
    query(user_by_id(star.pk), None, Cursor(limit=4))
    owner = user_by_id(star.pk)
    with measured(monkeypatch) as cost:
        assert len(query(owner, None, Cursor(limit=4)).items) == 4
    assert (len(cost.statements), cost.trips) == (1, 1)
    assert "graph_" not in cost.statements[0].replace("graph_revision", "")


@pytest.mark.slow
@pytest.mark.parametrize(("query", "model", "column"), LISTS)
def test_changes_are_on_the_next_page_without_a_load(
    star, carol, query, model, column, monkeypatch
):
    query(user_by_id(star.pk), None, Cursor(limit=4))
    first = user_by_id(by_sql(model, column, star)[0])
    steps = [
        lambda: (follow_user(carol, star), follow_user(star, carol)),
        lambda: (unfollow_user(first, star), unfollow_user(star, first)),
        lambda: mute_user(star, first),
        lambda: block_user(star, carol),
    ]
    for step in steps:
        step()
        owner = user_by_id(star.pk)
        with measured(monkeypatch) as cost:
            seen = [user.pk for user in query(owner, None, Cursor(limit=2)).items]
        assert seen == by_sql(model, column, star)[:2]
        assert (len(cost.statements), cost.trips) == (1, 1)


@pytest.mark.slow
def test_a_head_that_shrank_is_loaded_again(star, monkeypatch):
    followers_page(user_by_id(star.pk), None, Cursor(limit=4))
    for user_id in by_sql(Follower, "follower_id", star)[:4]:
        unfollow_user(user_by_id(user_id), star)
    for statements in (2, 1):
        owner = user_by_id(star.pk)
        with measured(monkeypatch) as cost:
            seen = [user.pk for user in followers_page(owner, None, Cursor(limit=4)).items]
        assert seen == by_sql(Follower, "follower_id", star)[:4]
        assert len(cost.statements) == statements


@pytest.mark.long
@pytest.mark.parametrize(("query", "model", "column"), LISTS)
def test_every_kind_of_cursor_gives_the_same_page_warm_and_cold(
    star, query, model, column, subtests
):
    edges = sorted(model.objects.filter(owner=star).values_list("pk", flat=True))
    bounds = (0, edges[0], edges[4], edges[9], edges[-1], edges[-1] + 5)
    for name, edge in product(("since_id", "min_id", "max_id"), bounds):
        cursor, owner = Cursor(limit=3, **{name: edge}), user_by_id(star.pk)
        with subtests.test(**{name: edge}):
            walk(query, star, limit=4)
            warm = query(owner, None, cursor)
            # not worth keeping: PostgreSQL answers
            owner.counts.followers = owner.counts.following = 0
            assert warm == query(owner, None, cursor)


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize(("query", "model", "column"), LISTS)
def test_lists_are_right_after_any_loss(star, query, model, column):
    truth = by_sql(model, column, star)
    heads = FOLLOWERS_LIST if query is followers_page else FOLLOWING_LIST
    walk(query, star, limit=4)
    key = heads.key(star.pk)
    assert graph().exists(key)
    graph().flushall()
    assert walk(query, star, limit=4) == truth
    graph().zadd(key, {"senseless": 0, "": 7.5})
    assert walk(query, star, limit=4) == truth
    graph().delete(key)
    graph().set(key, "garbage")
    assert walk(query, star, limit=4) == truth
    with dead_redis():
        assert walk(query, star, limit=4) == truth


def test_short_lists_are_not_kept(alice, bob, settings):
    settings.GRAPH_LIST_FROM = 2
    followers_page(user_by_id(alice.pk), bob.pk, Cursor())
    assert not graph().exists(FOLLOWERS_LIST.key(alice.pk))


def test_nobody_loads_what_nobody_has(alice):
    assert load_sets(RELATIONS, 10**9) == {}
    assert load_list(FOLLOWERS_LIST, 10**9).entries == []
    assert list(graph().scan_iter("rel:*")) == []
    assert relations(10**9, [alice.pk]) == Relations()


def test_the_set_of_followers_takes_follows_over(alice, carol):
    load_sets(FOLLOWERS, alice.pk)
    follow_user(carol, alice)
    revision = UserCounts.objects.get(pk=alice.pk).followers_revision
    assert FOLLOWERS.contained(alice.pk, revision, [carol.pk]) == {FOLLOWED: {carol.pk}}
    block_user(alice, carol)
    revision += 1
    assert FOLLOWERS.contained(alice.pk, revision, [carol.pk]) == {FOLLOWED: set()}
