"""Relations are read from a replica that may lag, hang or be gone; nobody notices but the clock."""

import pytest

from feedcache import breaker, connections
from feedcache.connections import RedisError, graph, graph_reader, graph_replicas, read_graph
from tests.support.clusters import addresses
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

    return read_graph(read)


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
    connections._breaker(graph_replicas()[0])._open_until = 0.0  # the pause is over
    wait_until(
        lambda: (followed(1), graph_reader())[1] is graph_replicas()[0], "the replica is read again"
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
        assert (graph_reader(), followed(1), followed(2)) == (graph(), {b"alice"}, None)
        assert commands(primary) - before == 2


def test_when_the_primary_is_gone_that_is_the_callers(replicated, cache_settings):
    _primary, copy = replicated
    url = "redis://127.0.0.1:1/0"
    places = addresses(cache_settings, graph_url=url, graph_replica_urls=[copy.url])
    with places, pytest.raises(RedisError):
        followed(77)


def test_a_replica_takes_no_writes(replicated):
    with pytest.raises(RedisError):
        graph_replicas()[0].set("x", 1)
