"""The relations that Redis keeps are those of PostgreSQL at the next read, whatever happened to either."""

import random
import time
from contextlib import suppress
from typing import Any

import pytest
from django.db import connection, transaction

from apps.accounts.models import UserCounts
from apps.accounts.queries import user_by_id
from apps.errors import NotAllowed
from apps.graph import cache
from apps.graph.actions import (
    block_user,
    follow_user,
    mute_user,
    unblock_user,
    unfollow_user,
    unmute_user,
)
from apps.graph.cache import (
    FOLLOWERS,
    RELATIONS,
    load_sets,
)
from apps.graph.management.bulk import Edge, begin_import, load_edges
from apps.graph.queries import followers_page, following_page, relations
from apps.pagination import Cursor
from apps.posts.queries import visible_posts
from feedcache.connections import graph
from tests.graph.warm import cached, from_truth, measured, revision_of
from tests.support.factories import make_user, publish
from tests.support.faults import dead_redis
from tests.support.threads import together


def follow_without_reposts(one, other):
    follow_user(one, other, reposts=False)


ACTS: list[Any] = [
    follow_user, follow_without_reposts, unfollow_user, block_user, unblock_user, mute_user, unmute_user,
]  # fmt: skip
KEYS = [f"rel:2:{{%d}}:{name}" for name in RELATIONS.names]


pytestmark = pytest.mark.django_db(transaction=True)  # caches are written after commits


@pytest.fixture
def others(alice, carol):
    return [carol, *(make_user() for _ in range(4))]


@pytest.fixture
def warm(alice, others):
    """Alice's relations are kept."""
    follow_user(alice, others[0])
    mute_user(alice, others[1])
    cached(alice, others)
    return alice


# --- the next read ---------------------------------------------------------------------------------


def test_a_warm_answer_is_one_round_trip_and_no_statement(warm, others, monkeypatch):
    revision = revision_of(warm)
    for number in (1, len(others)):
        with measured(monkeypatch) as cost:
            found = relations(warm.pk, [one.pk for one in others[:number]], revision=revision)
        assert found == from_truth(warm, others[:number])
        assert (cost.statements, cost.trips) == ([], 1)
        assert cost.commands == {"evalsha": 1, "smismember": len(KEYS), "expire": len(KEYS)}


def test_who_does_not_know_the_revision_pays_one_small_statement(warm, others, monkeypatch):
    with measured(monkeypatch) as cost:
        relations(warm.pk, [others[0].pk])
    assert (len(cost.statements), cost.trips) == (1, 1)


def test_a_cold_answer_is_one_statement_and_is_kept(alice, others, monkeypatch):
    follow_user(alice, others[0])
    cached(
        others[1], [alice]
    )  # this process asks the server for its limit once, and gives it the script
    revision = revision_of(alice)
    with measured(monkeypatch) as cost:
        found = relations(alice.pk, [one.pk for one in others], revision=revision)
    assert found == from_truth(alice, others)
    assert (len(cost.statements), cost.trips) == (1, 2)
    assert cost.commands["restore"] == len(KEYS)
    with measured(monkeypatch) as cost:
        relations(alice.pk, [others[0].pk], revision=revision)
    assert (cost.statements, cost.trips) == ([], 1)


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("before", [follow_user, follow_without_reposts, block_user, mute_user])
def test_every_act_is_seen_by_both_sides_on_the_next_read(before, monkeypatch, subtests):
    for act in ACTS:
        with subtests.test(act=act.__name__):
            check_act(act, before, make_user(), make_user(), monkeypatch)


def check_act(act, before, alice, carol, monkeypatch):
    before(alice, carol)
    for one, other in ((alice, carol), (carol, alice)):
        cached(one, [other])
    try:
        act(alice, carol)
    except NotAllowed:
        assert act in {follow_user, follow_without_reposts}
        assert before is block_user
    for one, other in ((alice, carol), (carol, alice)):
        truth, revision = from_truth(one, [other]), revision_of(one)
        with measured(monkeypatch) as cost:
            assert relations(one.pk, [other.pk], revision=revision) == truth
        assert cost.statements == []  # the sets took the change over: nothing was loaded again


@pytest.mark.parametrize("act", ACTS)
def test_an_act_that_changes_nothing_leaves_the_revisions(alice, carol, act):
    act(alice, carol)
    rows = list(UserCounts.objects.order_by("pk").values())
    act(alice, carol)
    assert list(UserCounts.objects.order_by("pk").values()) == rows


def test_revisions_grow_by_one_for_those_whom_an_act_concerns(alice, carol):
    def revisions():
        rows = [UserCounts.objects.get(pk=one.pk) for one in (alice, carol)]
        return [(row.graph_revision, row.followers_revision) for row in rows]

    seen = [revisions()]
    for act in (follow_user, mute_user, unmute_user, unfollow_user, block_user, unblock_user):
        act(alice, carol)
        seen.append(revisions())
    follow_user(alice, carol)
    follow_user(carol, alice)
    seen.append(revisions())
    block_user(alice, carol)  # ends both follows
    seen.append(revisions())
    assert seen == [
        [(0, 0), (0, 0)], [(1, 0), (0, 1)], [(2, 0), (0, 1)], [(3, 0), (0, 1)], [(4, 0), (0, 2)],
        [(5, 0), (1, 2)], [(6, 0), (2, 2)], [(7, 1), (3, 3)], [(8, 2), (4, 4)],
    ]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_after_any_history_with_any_losses_the_answer_is_that_of_postgresql(seed, settings):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    dice, people = random.Random(seed), [make_user() for _ in range(4)]
    for _step in range(80):
        one, other = dice.sample(people, 2)
        with suppress(NotAllowed):
            dice.choice(ACTS)(one, other)
        if dice.random() < 0.2:
            keys = list(graph().scan_iter("rel:*"))
            graph().delete(*dice.sample(keys, len(keys) // 3), "rel:")
        for viewer in people:
            rest = [person for person in people if person != viewer]
            assert cached(viewer, rest) == from_truth(viewer, rest)


# --- losses ------------------------------------------------------------------------------------------


def test_an_empty_redis_is_filled_again(warm, others):
    graph().flushall()
    assert cached(warm, others) == from_truth(warm, others)
    assert sum(graph().exists(key % warm.pk) for key in KEYS) == len(KEYS)


def test_without_redis_postgresql_answers_in_one_statement(warm, others, monkeypatch):
    revision = revision_of(warm)
    with dead_redis():
        statements = []

        def noting(execute, sql, params, many, context):
            statements.append(sql)
            return execute(sql, params, many, context)

        with connection.execute_wrapper(noting):
            found = relations(warm.pk, [one.pk for one in others], revision=revision)
        assert len(statements) == 1
        assert found.following == {others[0].pk}
        assert found.muting == {others[1].pk}
        block_user(warm, others[2])
        assert cached(warm, others).blocking == {others[2].pk}
    assert cached(warm, others) == from_truth(warm, others)


@pytest.mark.parametrize("key", KEYS)
def test_garbage_in_a_key_is_a_miss_and_written_over(warm, others, key):
    graph().delete(key % warm.pk)
    graph().set(key % warm.pk, "garbage")
    assert cached(warm, others) == from_truth(warm, others)
    assert graph().type(key % warm.pk) == b"set"


def test_a_change_that_never_reaches_redis_is_a_miss(warm, others, monkeypatch):
    monkeypatch.setattr(RELATIONS.__class__, "change", lambda *_args: 1 / 0)
    with monkeypatch.context() as patch:
        patch.setattr(
            "apps.graph.actions.apply_changes", lambda *_args: None
        )  # the process died here
        block_user(warm, others[3])
        unfollow_user(warm, others[0])
    assert cached(warm, others) == from_truth(warm, others)
    assert cached(others[3], [warm]).blocked_by == {warm.pk}


def test_who_does_not_come_is_forgotten_and_right_again_on_return(warm, others):
    for key in KEYS:
        graph().pexpire(key % warm.pk, 1)
    time.sleep(0.01)
    follow_user(warm, others[2])
    assert graph().exists(*(key % warm.pk for key in KEYS)) == 0
    assert cached(warm, others) == from_truth(warm, others)


def test_everything_that_is_kept_goes_by_itself(warm, alice, carol, settings):
    settings.GRAPH_LIST_FROM = 0
    load_sets(FOLLOWERS, carol.pk)
    for query in (followers_page, following_page):
        query(user_by_id(alice.pk), carol.pk, Cursor())
    unfollow_user(alice, carol)
    follow_user(alice, carol)
    keys = list(graph().scan_iter("rel:*"))
    assert len(keys) >= 7
    assert all(0 < graph().ttl(key) <= settings.GRAPH_TTL_SECONDS for key in keys)


# --- races --------------------------------------------------------------------------------------------


def test_what_a_transaction_reads_is_not_kept_when_it_is_undone(alice, carol):
    """Its revision will be another one's: what it saw must never answer for that."""
    with transaction.atomic():
        follow_user(alice, carol)
        assert cached(alice, [carol]).following == {carol.pk}
        transaction.set_rollback(True)
    assert graph().exists(*(key % alice.pk for key in KEYS)) == 0
    mute_user(alice, carol)
    assert cached(alice, [carol]) == from_truth(alice, [carol])


def test_what_a_transaction_reads_is_kept_once_it_is_committed(alice, carol, monkeypatch):
    with transaction.atomic():
        follow_user(alice, carol)
        cached(alice, [carol])
        assert graph().exists(*(key % alice.pk for key in KEYS)) == 0
    revision = revision_of(alice)
    with measured(monkeypatch) as cost:
        assert relations(alice.pk, [carol.pk], revision=revision).following == {carol.pk}
    assert cost.statements == []


def test_a_slow_load_that_comes_after_a_change_is_a_miss_not_an_answer(alice, carol, monkeypatch):
    """Between the statement and the store somebody blocks: the old sets arrive last."""
    store_after_commit = cache._store_after_commit

    def late(store):
        monkeypatch.setattr(cache, "_store_after_commit", store_after_commit)
        block_user(carol, alice)
        store_after_commit(store)

    monkeypatch.setattr(cache, "_store_after_commit", late)
    old = cached(alice, [carol])
    assert not old.blocked_by  # read before the block: as if the page had been made before it
    assert cached(alice, [carol]).blocked_by == {carol.pk}


@pytest.mark.slow
def test_readers_and_writers_at_once_never_see_what_was_undone_before_they_asked(settings):
    """A reader looks up the truth before it asks and after it: the answer is one of what was true between."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    one, other = make_user(), make_user()

    def work(index):
        dice, wrong = random.Random(index), []
        for _ in range(25):
            if index % 2:
                acts: list[Any] = [
                    follow_user,
                    unfollow_user,
                    mute_user,
                    unmute_user,
                    block_user,
                    unblock_user,
                ]
                try:
                    dice.choice(acts)(*dice.sample([one, other], 2))
                except NotAllowed:
                    continue
                if dice.random() < 0.1:
                    graph().delete(KEYS[0] % one.pk)
                continue
            before = revision_of(one)
            found = relations(one.pk, [other.pk], revision=before)
            truth = from_truth(one, [other])
            if revision_of(one) == before and found != truth:
                wrong.append((found, truth))
        return wrong

    assert together(8, work) == [[]] * 8
    assert cached(one, [other]) == from_truth(one, [other])
    assert cached(other, [one]) == from_truth(other, [one])


# --- bulk ----------------------------------------------------------------------------------------------


def test_a_bulk_load_is_seen_on_the_next_read(alice, carol, others, settings):
    settings.GRAPH_LIST_FROM = 0
    cached(alice, others)
    followers_page(user_by_id(carol.pk), None, Cursor())
    load_sets(FOLLOWERS, carol.pk)
    begin_import("digest")
    edges = [Edge(n, alice.handle, one.handle) for n, one in enumerate(others, start=1)]
    load_edges("digest", edges, after=0, upto=len(edges))
    assert cached(alice, others).following == {one.pk for one in others}
    assert [u.pk for u in followers_page(user_by_id(carol.pk), None, Cursor()).items] == [alice.pk]
    revision = UserCounts.objects.get(pk=carol.pk).followers_revision
    assert FOLLOWERS.contained(carol.pk, revision, [alice.pk]) is None
    load_edges("digest", edges, after=len(edges), upto=2 * len(edges))  # all there already
    assert UserCounts.objects.get(pk=carol.pk).followers_revision == revision


# --- restricted posts ------------------------------------------------------------------------------------


def forge(viewer, **sets):
    """What somebody with access to Redis could plant: sets with the right fence."""
    empty: dict[str, list[int]] = {name: [] for name in RELATIONS.names}
    RELATIONS.store(viewer.pk, revision_of(viewer), empty | sets)


@pytest.mark.parametrize("visibility", ["followers", "mentioned"])
def test_a_forged_follower_sees_nothing_that_is_not_for_everybody(alice, carol, visibility):
    post = publish(alice, "secret", visibility=visibility)
    forge(carol, following=[alice.pk])
    assert relations(carol.pk, [alice.pk]).following == {alice.pk}  # Redis says so
    assert visible_posts(carol.pk, [post.pk]).posts == {}
    assert visible_posts(alice.pk, [post.pk]).posts.keys() == {post.pk}


@pytest.mark.parametrize("blocked_by_author", [True, False])
def test_a_forged_peace_opens_no_restricted_post(alice, carol, blocked_by_author):
    post = publish(alice, "hello @carol", visibility="mentioned")
    assert visible_posts(carol.pk, [post.pk]).posts
    block_user(*((alice, carol) if blocked_by_author else (carol, alice)))
    forge(carol)
    assert relations(carol.pk, [alice.pk]).severed == set()
    assert visible_posts(carol.pk, [post.pk]).posts == {}


def test_the_gate_brings_the_revision_and_asks_redis_for_relations_and_counts(
    alice, bob, monkeypatch
):
    posts = [publish(alice).pk for _ in range(3)]
    visible_posts(bob.pk, posts)
    with measured(monkeypatch) as cost:
        assert len(visible_posts(bob.pk, posts).posts) == 3
    assert cost.trips == 2  # relations, counts
    assert not any(
        "graph_" in statement and "FROM graph_" in statement for statement in cost.statements
    )
