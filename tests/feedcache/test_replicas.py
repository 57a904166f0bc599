"""Relations and recent posts are read from a replica that may lag, hang or be gone; nobody notices but the clock."""

import pytest

from feedcache import breaker, connections
from feedcache.connections import (
    RedisError,
    graph,
    read_replicated,
    reader_of,
    replicas,
    timelines,
)
from feedcache.structures.week_bucket import Bucket, Week, WeekBuckets
from feedcache.topology import Tenant
from tests.support.clusters import addresses, link
from tests.support.waiting import wait_until


def follow(revision, *ids):
    """A fenced set at the primary, as the relations keep it."""
    graph().delete("set")
    graph().sadd("set", f"fence:{revision}", *ids)


def followed(revision):
    """What a reader finds who knows a revision."""

    def read(client):
        members = client.smembers("set")
        fence = f"fence:{revision}".encode()
        return members - {fence} if fence in members else None

    return read_replicated("graph", read)


def commands(one):
    with one.client() as client:
        return client.info("commandstats").get("cmdstat_smembers", {"calls": 0})["calls"]


def test_reads_go_to_the_replica(replicated):
    primary, copy = replicated
    follow(1, "alice")
    wait_until(
        lambda: copy.ask("SMEMBERS", "set") == primary.ask("SMEMBERS", "set"),
        "the replica has the set",
    )
    before = commands(primary), commands(copy)
    for _ in range(10):
        assert followed(1) == {b"alice"}
    assert (commands(primary) - before[0], commands(copy) - before[1]) == (0, 10)


def test_a_lagging_replica_is_a_miss_for_whoever_knows_better(replicated):
    _primary, copy = replicated
    follow(1, "alice")
    wait_until(lambda: copy.ask("EXISTS", "set"), "the replica has the set")
    copy.ask("REPLICAOF", "NO", "ONE")  # from here on it hears nothing
    follow(2, "alice", "carol")
    assert followed(1) == {b"alice"}  # who does not know of it sees the old set
    assert followed(2) == {b"alice", b"carol"}  # who followed sees it at once
    assert followed(3) is None


def test_a_replica_that_hangs_costs_one_wait(replicated, monkeypatch):
    _primary, copy = replicated
    follow(1, "alice")
    copy.freeze()
    asked, read = [], connections._read_replica

    def counted(*what):
        asked.append(what)
        return read(*what)

    with monkeypatch.context() as patch:
        patch.setattr(breaker, "FIRST_PAUSE_SECONDS", 3600)
        patch.setattr(breaker, "MAX_PAUSE_SECONDS", 3600)
        patch.setattr(connections, "_read_replica", counted)
        for _ in range(20):
            assert followed(1) == {b"alice"}
    assert len(asked) == 1
    copy.thaw()
    connections._breaker(replicas("graph")[0])._open_until = 0.0  # the pause is over
    wait_until(
        lambda: (followed(1), reader_of("graph"))[1] is replicas("graph")[0],
        "the replica is read again",
    )


def test_a_replica_that_is_gone_is_left_alone(replicated, cache_settings):
    primary, _copy = replicated
    with addresses(
        cache_settings, graph_url=primary.url, graph_replica_urls=["redis://127.0.0.1:1/0"]
    ):
        follow(1, "alice")
        assert followed(1) == {b"alice"}


def test_without_replicas_the_primary_is_asked_once(replicated, cache_settings):
    primary, _copy = replicated
    with addresses(cache_settings, graph_url=primary.url, graph_replica_urls=[]):
        follow(1, "alice")
        before = commands(primary)
        assert (reader_of("graph"), followed(1), followed(2)) == (graph(), {b"alice"}, None)
        assert commands(primary) - before == 2


def test_when_the_primary_is_gone_that_is_the_callers(replicated, cache_settings):
    _primary, copy = replicated
    url = "redis://127.0.0.1:1/0"
    places = addresses(cache_settings, graph_url=url, graph_replica_urls=[copy.url])
    with places, pytest.raises(RedisError):
        followed(77)


def test_a_replica_takes_no_writes(replicated):
    with pytest.raises(RedisError):
        replicas("graph")[0].set("x", 1)


# -- recent posts -----------------------------------------------------------------------------------

WEEK = Week.of_second(1_795_000_000)
WEEKS = [WEEK, WEEK.before()]
RECENT = WeekBuckets(prefix="week:test", channel="test")


@pytest.fixture
def weeks_replicated(pair, cache_settings):
    """Timelines are on a primary; recent posts are read from its replica."""
    primary, copy = pair
    places = {"redis_url": primary.url, "timelines_replica_urls": [copy.url]}
    with addresses(cache_settings, **places):
        timelines().flushdb()
        yield primary, copy
        link(primary, copy)


def store(revision, *post_ids):
    token = RECENT.begin(7) or ""
    for week in WEEKS:
        values = {post_id: b"x" for post_id in post_ids if Week.of_id(post_id) == week}
        assert RECENT.store(7, token, week, Bucket(revision, values))
    RECENT.end(7, token)


def ids_of(revision=0):
    """What a reader finds of both weeks who knows a revision; None for a week that is missing."""
    found = RECENT.read(7, WEEKS, revision=revision)
    return [bucket and list(bucket.values) for bucket in found]


def scans(one):
    with one.client() as client:
        return client.info("commandstats").get("cmdstat_hscan", {"calls": 0})["calls"]


def test_recent_posts_are_read_from_the_replica(weeks_replicated):
    primary, copy = weeks_replicated
    store(3, WEEK.first_id + 1)
    wait_until(lambda: copy.ask("DBSIZE") == primary.ask("DBSIZE"), "the replica has them")
    before = scans(primary), scans(copy)
    assert ids_of(3) == [[WEEK.first_id + 1], []]
    assert (scans(primary), scans(copy)) == (before[0], before[1] + 2)


def test_who_knows_of_a_newer_post_finds_it_however_far_behind_the_replica_is(weeks_replicated):
    primary, copy = weeks_replicated
    store(3, WEEK.first_id + 1)
    wait_until(lambda: copy.ask("DBSIZE") == primary.ask("DBSIZE"), "the replica has them")
    copy.ask("REPLICAOF", "NO", "ONE")  # from here on it hears nothing
    timelines().flushdb()
    store(4, WEEK.first_id + 1, WEEK.first_id + 2)
    both = [[WEEK.first_id + 1, WEEK.first_id + 2], []]
    assert ids_of(3) == [[WEEK.first_id + 1], []]
    assert ids_of(4) == both
    assert ids_of(5) == [None, None]
    assert ids_of() == both, "who names none is told by the primary"


def test_a_replica_of_recent_posts_that_hangs_or_moved_away_is_not_asked(
    weeks_replicated, monkeypatch
):
    primary, copy = weeks_replicated
    store(3, WEEK.first_id + 1)
    monkeypatch.setattr(connections, "tenant_of", lambda _name: Tenant(primary.url))
    assert replicas("timelines") == []
    monkeypatch.undo()
    copy.freeze()
    try:
        assert ids_of(3) == [[WEEK.first_id + 1], []]
    finally:
        copy.thaw()
