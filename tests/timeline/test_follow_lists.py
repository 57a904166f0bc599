"""Follow lists from Redis: rebuilds and deliveries use exactly those of PostgreSQL, whatever happens to the cache."""

import random
from collections import Counter
from contextlib import suppress

import pytest

from apps.accounts.models import UserCounts
from apps.errors import NotAllowed
from apps.graph import actions
from apps.graph.actions import block_user, follow_user, unblock_user, unfollow_user
from apps.graph.cache import FOLLOWED, FOLLOWERS, FOLLOWING, RELATIONS, load_sets
from apps.graph.models import Followee, Follower
from apps.graph.queries import all_follower_ids
from apps.timeline.fanout import split
from apps.timeline.fanout.dispatch import start_job
from apps.timeline.models import FanoutChunk
from apps.timeline.sources import outbox
from apps.timeline.sources.home_cache import HOME, rebuild_home
from feedcache import stats
from feedcache.connections import graph
from feedcache.structures.longset import LongSets
from tests.support.factories import deliver, make_user, publish
from tests.support.faults import dead_redis
from tests.support.threads import together

pytestmark = pytest.mark.django_db(transaction=True)

ACTS = [follow_user, follow_user, unfollow_user, block_user, unblock_user]


def followees_of(reader):
    """The reader and whom the reader follows, with the revisions of their outboxes, as PostgreSQL has them."""
    ids = Followee.objects.filter(owner=reader).values_list("followee", flat=True)
    counts = UserCounts.objects.filter(pk__in=[*ids, reader.pk])
    return dict(counts.values_list("pk", "outbox_revision"))


def followers_of(author):
    return set(Follower.objects.filter(owner=author).values_list("follower", flat=True))


def read_followees(reader):
    return outbox._followee_revisions(reader.pk)


def counted():
    counts = stats.drain()
    return Counter({key: counts[key] for key in counts if key[0] in {"following", "followers"}})


def after_members(monkeypatch, act):
    """Have something happen between the read of a list and the check of its revision."""
    members = LongSets.members

    def then_act(self, owner_id, name):
        found = members(self, owner_id, name)
        act()
        return found

    monkeypatch.setattr(LongSets, "members", then_act)


class Mishaps:
    """What may happen to the follow lists in Redis: flushed, evicted, written late, loaded at any time."""

    def __init__(self, chance):
        self.chance = chance
        self.copies: dict[str, bytes] = {}

    def happen(self, reader, author):
        keys = [RELATIONS.key(reader.pk, FOLLOWING), FOLLOWERS.key(author.pk, FOLLOWED)]
        fate = self.chance.random()
        if fate > 0.95:
            graph().flushdb()
        elif fate > 0.85:
            graph().delete(*keys)
        elif fate > 0.7 and self.copies:  # a late writer
            key = self.chance.choice(list(self.copies))
            graph().restore(key, 60_000, self.copies[key], replace=True)
        self.copies |= {key: copy for key in keys if (copy := graph().dump(key)) is not None}
        if fate < 0.6:
            load_sets(RELATIONS, reader.pk)
            load_sets(FOLLOWERS, author.pk)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_lists_are_those_of_postgresql_after_any_history(seed, monkeypatch):
    chance = random.Random(seed)
    mishaps, people = Mishaps(chance), [make_user() for _ in range(6)]
    for _step in range(120):
        one, other = chance.sample(people, 2)
        with monkeypatch.context() as patch, suppress(NotAllowed):
            if chance.random() < 0.2:  # the process dies between its commit and the cache
                patch.setattr(actions, "apply_changes", lambda *_args: None)
            chance.choice(ACTS)(one, other)
        mishaps.happen(*chance.sample(people, 2))
        for person in people:
            assert read_followees(person) == followees_of(person)
            truth = followers_of(person)
            found = all_follower_ids(person.pk, expected=len(truth))
            assert found is not None
            assert len(found) == len(truth)
            assert set(found) == truth
            assert all_follower_ids(person.pk, expected=len(truth) + 1) is None
    counts = counted()
    for subject in ("following", "followers"):
        assert min(counts[subject, stats.HIT], counts[subject, stats.STALE]) > 0


def test_a_list_is_read_once_from_postgresql_and_then_from_redis(
    alice, bob, django_assert_num_queries
):
    follow_user(bob, alice)
    graph().flushdb()
    stats.drain()
    assert read_followees(bob).keys() == {alice.pk, bob.pk}
    assert counted() == {("following", stats.MISS): 1}
    load_sets(RELATIONS, bob.pk)  # as the page does
    with django_assert_num_queries(1) as queries:
        assert read_followees(bob).keys() == {alice.pk, bob.pk}
    assert "graph_followee" not in queries[0]["sql"]
    assert counted() == {("following", stats.HIT): 1}
    assert all_follower_ids(alice.pk, expected=1) == [bob.pk]
    with django_assert_num_queries(1) as queries:
        assert all_follower_ids(alice.pk, expected=1) == [bob.pk]
    assert "graph_follower" not in queries[0]["sql"]
    assert counted() == {("followers", stats.MISS): 1, ("followers", stats.HIT): 1}


def test_what_changes_between_the_list_and_its_check_is_seen(alice, bob, carol, monkeypatch):
    follow_user(bob, alice)
    load_sets(RELATIONS, bob.pk)
    load_sets(FOLLOWERS, alice.pk)
    after_members(monkeypatch, lambda: follow_user(bob, carol))
    assert read_followees(bob).keys() == {alice.pk, bob.pk, carol.pk}
    monkeypatch.undo()
    after_members(monkeypatch, lambda: unfollow_user(bob, alice))
    assert all_follower_ids(alice.pk, expected=1) is None
    assert all_follower_ids(alice.pk, expected=0) == []


def test_without_redis_lists_come_from_postgresql(alice, bob):
    follow_user(bob, alice)
    load_sets(RELATIONS, bob.pk)
    with dead_redis():
        assert read_followees(bob) == followees_of(bob)
        assert all_follower_ids(alice.pk, expected=1) is None


@pytest.mark.parametrize("is_set", [True, False])
def test_garbage_in_the_place_of_a_list_is_a_miss(alice, bob, is_set):
    follow_user(bob, alice)
    for key in (RELATIONS.key(bob.pk, FOLLOWING), FOLLOWERS.key(alice.pk, FOLLOWED)):
        graph().delete(key)
        graph().sadd(key, "a", "b") if is_set else graph().set(key, "x")
    assert read_followees(bob) == followees_of(bob)
    assert all_follower_ids(alice.pk, expected=1) == [bob.pk]


def test_a_list_too_long_for_a_set_comes_from_postgresql(alice, bob, carol, monkeypatch):
    monkeypatch.setattr("apps.graph.queries.FOLLOWERS", small := LongSets(
        FOLLOWERS.prefix, FOLLOWERS.names, FOLLOWERS.ttl_seconds, maximum=1))  # fmt: skip
    for reader in (bob, carol):
        follow_user(reader, alice)
    load_sets(small, alice.pk)
    assert all_follower_ids(alice.pk, expected=2) is None
    assert all_follower_ids(alice.pk, expected=1) is None


def test_a_delivery_reaches_every_follower_when_the_cached_list_lacks_one(alice, bob, carol):
    """Not even a set that claims the right revision is believed when its size is wrong."""
    for reader in (bob, carol):
        follow_user(reader, alice)
        rebuild_home(reader.pk)
    load_sets(FOLLOWERS, alice.pk)
    assert graph().srem(FOLLOWERS.key(alice.pk, FOLLOWED), bob.pk) == 1
    post = publish(alice)
    start_job(post.pk)
    assert HOME.ids(bob.pk) == HOME.ids(carol.pk) == [post.pk]
    assert FanoutChunk.objects.values_list("state", "expected", "delivered").get() == ("done", 2, 2)


def test_a_delivery_takes_the_list_of_a_small_author_from_redis(alice, bob, monkeypatch):
    follow_user(bob, alice)
    rebuild_home(bob.pk)
    load_sets(FOLLOWERS, alice.pk)
    monkeypatch.delattr(split, "follower_ids_between")
    post = publish(alice)
    start_job(post.pk)
    assert HOME.ids(bob.pk) == [post.pk]


def test_a_chunk_that_is_tried_again_takes_its_readers_by_their_edges(alice, bob, carol):
    for reader in (bob, carol):
        follow_user(reader, alice)
    rebuild_home(bob.pk)
    post = publish(alice)
    start_job(post.pk)
    FanoutChunk.objects.update(state="pending", due_at=post.created_at)
    HOME.drop(bob.pk)
    token = HOME.begin(bob.pk) or ""
    deliver()
    HOME.swap(bob.pk, token, [], complete=True)
    assert HOME.ids(bob.pk) == [post.pk]


@pytest.mark.long
def test_posts_reach_all_who_follow_throughout_while_others_come_and_go(alice):
    steady, restless = [make_user() for _ in range(4)], [make_user() for _ in range(3)]
    for reader in steady:
        follow_user(reader, alice)
        rebuild_home(reader.pk)
    posts = []

    def work(index):
        for _round in range(8):
            if index == 0:
                posts.append(publish(alice).pk)
                start_job(posts[-1])
            elif index == 1:
                graph().delete(FOLLOWERS.key(alice.pk, FOLLOWED))
                load_sets(FOLLOWERS, alice.pk)
            else:
                follow_user(restless[index - 2], alice)
                unfollow_user(restless[index - 2], alice)

    together(2 + len(restless), work)
    deliver()
    for reader in steady:
        assert HOME.ids(reader.pk) == sorted(posts, reverse=True)
