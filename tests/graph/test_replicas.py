"""Whom one follows is read from a replica; one's own follow is seen at once, however far behind that is."""

import pytest

from apps.graph.actions import block_user, follow_user, unfollow_user
from apps.graph.familiar_followers import common_followers
from apps.graph.queries import followers_page, relations
from apps.pagination import Cursor
from apps.posts.queries import visible_posts
from feedcache.connections import graph, replicas
from tests.graph.warm import cached, from_truth, revision_of
from tests.support.factories import make_user, publish
from tests.support.waiting import wait_until


@pytest.fixture(autouse=True)
def _real_commits(transactional_db, replicated):
    """What is kept is stored after a commit, so there must be some."""


@pytest.fixture
def others(alice, carol):
    return [carol, make_user()]


def caught_up(replicated):
    """Wait until the replica has what the primary has."""
    primary, copy = replicated
    offset = primary.client().info("replication")["master_repl_offset"]
    return wait_until(
        lambda: copy.client().info("replication")["slave_repl_offset"] >= offset,
        "the replica has caught up",
    )


def asked(one):
    return one.client().info("commandstats").get("cmdstat_smismember", {"calls": 0})["calls"]


def test_relations_are_read_from_the_replica(alice, others, replicated):
    primary, copy = replicated
    follow_user(alice, others[0])
    cached(alice, others)
    assert caught_up(replicated)
    before = asked(primary), asked(copy)
    assert cached(alice, others) == from_truth(alice, others)
    assert (asked(primary), asked(copy) > before[1]) == (before[0], True)


@pytest.mark.parametrize("how", ["deaf", "frozen"])
def test_ones_own_changes_are_seen_at_once(alice, others, replicated, how):
    _primary, copy = replicated
    follow_user(alice, others[0])
    cached(alice, others)
    assert caught_up(replicated)
    copy.ask("REPLICAOF", "NO", "ONE") if how == "deaf" else copy.freeze()
    for change in (follow_user, unfollow_user, block_user):
        change(alice, others[1])
        assert cached(alice, others) == from_truth(alice, others)
    post = publish(others[1])
    assert visible_posts(alice.pk, [post.pk]).posts == {}


def test_a_replica_that_is_behind_says_the_old_to_those_who_do_not_know_better(
    alice, others, replicated
):
    """Not wrong for them: it is what they would have read a moment before."""
    _primary, copy = replicated
    old = revision_of(alice)
    cached(alice, others)
    assert caught_up(replicated)
    copy.ask("REPLICAOF", "NO", "ONE")
    follow_user(alice, others[0])
    assert relations(alice.pk, [others[0].pk], revision=old).following == set()
    assert cached(alice, others).following == {others[0].pk}


def test_reads_of_a_replica_keep_what_they_read_alive(alice, others, replicated, monkeypatch):
    monkeypatch.setattr("feedcache.connections.EXPIRE_EVERY", 1)
    cached(alice, others)
    assert caught_up(replicated)
    key = f"rel:2:{{{alice.pk}}}:following"
    graph().expire(key, 50)
    cached(alice, others)
    assert graph().ttl(key) > 1000
    assert caught_up(replicated)
    assert replicas("graph")[0].ttl(key) > 1000


def test_long_lists_and_common_followees_come_from_the_replica(
    alice, bob, others, replicated, settings
):
    settings.GRAPH_LIST_FROM = 0
    carol = others[0]
    follow_user(bob, carol)
    follow_user(carol, others[1])
    follow_user(bob, others[1])
    for _ in range(3):
        assert caught_up(replicated)
        found = followers_page(carol, None, Cursor())
        assert [user.pk for user in found.items] == [bob.pk]
        assert familiar_ids(bob, others[1]) == [carol.pk]


def familiar_ids(viewer, other):
    viewer.counts.refresh_from_db()
    other.counts.refresh_from_db()
    (found,) = common_followers(viewer, [other], limit=5).values()
    return [user.pk for user in found.people]
