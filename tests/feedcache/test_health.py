"""Probes of real nodes, and the sums of what all processes counted."""

import threading
import time

import pytest

from feedcache import connections
from feedcache.connections import timelines
from feedcache.servers import health as module
from feedcache.servers import totals
from feedcache.servers.health import (
    SERVERS,
    MemcachedStatus,
    RedisStatus,
    memcached_status,
    memcached_statuses,
    probe,
    redis_statuses,
    share,
)
from tests.support.faults import dead_redis, frozen
from tests.support.services import running


@pytest.fixture
def node():
    if not running().memcached:
        pytest.skip("no memcached on this machine")
    return running().memcached[0]


def test_a_node_that_works(node):
    assert probe(node.address) == ""
    health = memcached_status(node.address)
    assert health.is_well
    assert health.max_bytes == 64 * 1024 * 1024
    assert health.milliseconds > 0
    assert health.hit_rate is not None


def test_a_probe_leaves_nothing_behind(node):
    before = memcached_status(node.address).items
    assert memcached_status(node.address).items == before


def test_a_node_that_is_not_there():
    health = memcached_status("unix:/nothing-here.sock")
    assert not health.is_well
    assert health.hit_rate is None
    assert "No such file" in health.error


def test_nodes_that_do_not_answer_are_not_well(node):
    addresses = [node.address, *(f"unix:/nothing-{n}.sock" for n in range(20))]
    with frozen(node):
        found = memcached_statuses(addresses)
    assert list(found) == addresses
    assert [url for url, health in found.items() if health.is_well] == []
    assert memcached_statuses([]) == {}


def test_many_nodes_take_as_long_as_the_slowest(monkeypatch):
    all_asked = threading.Barrier(module.MAX_PARALLEL)

    def slow(url):
        all_asked.wait(20)  # none is answered before all are asked
        return MemcachedStatus("", milliseconds=1)

    monkeypatch.setattr(module, "memcached_status", slow)
    found = memcached_statuses([f"unix:/{n}.sock" for n in range(module.MAX_PARALLEL)])
    assert all(one.is_well for one in found.values())


def test_the_servers_of_redis():
    (server,) = redis_statuses()
    assert set(server.classes) == set(SERVERS)
    assert server.is_well
    assert server.bytes_used > 0
    assert not server.may_lose
    with dead_redis():
        assert all(server.error for server in redis_statuses())


def test_replicas_are_named_by_their_class(monkeypatch):
    # here the replicas are the primary
    monkeypatch.setattr(module, "replicas", lambda name: [getattr(connections, name)()])
    (server,) = redis_statuses()
    assert set(server.classes) == {*SERVERS, "graph replica", "timelines replica"}
    assert RedisStatus("", ("graph replica",), hits=3, misses=1).hit_rate == 0.75
    assert RedisStatus("", ("timelines replica",), hits=3, misses=1).hit_rate is None


def test_a_redis_that_takes_no_writes_is_not_well():
    timelines().config_set("min-replicas-to-write", "1")
    try:
        (server,) = redis_statuses()
    finally:
        timelines().config_set("min-replicas-to-write", "0")
    assert "NOREPLICAS" in server.error


def test_a_hit_rate_stands_where_a_missing_key_means_that_postgresql_is_asked():
    assert RedisStatus("", ("graph",), hits=3, misses=1).hit_rate == 0.75
    assert RedisStatus("", ("graph", "cache"), hits=3, misses=1).hit_rate == 0.75
    assert RedisStatus("", ("graph", "timelines"), hits=3, misses=1).hit_rate is None
    assert RedisStatus("", ("graph",)).hit_rate is None


@pytest.mark.parametrize(
    ("name", "policy", "maximum", "loses"),
    [
        ("counters", "allkeys-lru", 1, True),
        ("existence", "volatile-lru", 1, True),
        ("counters", "noeviction", 1, False),
        ("counters", "allkeys-lru", 0, False),  # without a limit nothing is evicted
        ("timelines", "allkeys-lru", 1, False),
    ],
)
def test_which_servers_may_lose_what_has_to_be_kept(name, policy, maximum, loses):
    assert RedisStatus("", ("graph", name), max_bytes=maximum, policy=policy).may_lose is loses


def test_no_password_is_shown(cache_settings):
    cache_settings.counters_url = "redis://somebody:secret@127.0.0.1:1/3"
    connections.forget_clients()
    try:
        (server,) = [one for one in redis_statuses() if "counters" in one.classes]
    finally:
        connections.forget_clients()
    assert server.address == "127.0.0.1:1"
    assert "secret" not in repr(server)


def test_sums_of_all_processes():
    totals.add({("post", "hit"): 2, ("post", "miss"): 1})
    totals.add({("post", "hit"): 3})
    totals.add({})
    assert totals.last_hour() == {("post", "hit"): 5, ("post", "miss"): 1}


def test_sums_end_with_their_hour_and_are_known_for_a_day(monkeypatch):
    now = 1_800_000_000.0
    monkeypatch.setattr(time, "time", lambda: now - 7200)
    totals.add({("post", "hit"): 2})
    monkeypatch.setattr(time, "time", lambda: now)
    assert totals.last_hour() == {}
    assert totals.ever() == {("post", "hit"): 2}
    day = totals.last_day()
    assert len(day) == 144
    assert [start for start, _counts in day] == [day[0][0] + 600 * n for n in range(144)]
    filled = {start: counts for start, counts in day if counts}
    assert filled == {int(now - 7200) // 600 * 600: {("post", "hit"): 2}}
    (key,) = timelines().scan_iter("cachestats:[0-9]*")
    assert 86_400 < timelines().ttl(key) <= 87_000


def test_counts_since_a_moment_are_of_whole_five_seconds(monkeypatch):
    clock = [1_000_002.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    totals.add({("post", "hit"): 1})
    clock[0] = 1_000_007.0
    totals.add({("post", "hit"): 10})
    assert totals.since(1_000_001) is None, "those from 5 to 10 are not over"
    clock[0] = 1_000_010.5
    assert totals.since(1_000_001) is None, "what was counted at their end may arrive late"
    clock[0] = 1_000_011.0
    assert totals.since(1_000_001) == {("post", "hit"): 10}
    assert totals.since(1_000_000) == {("post", "hit"): 11}
    assert totals.since(1_000_006) is None
    clock[0] = 1_000_100.0
    assert totals.since(1_000_001) == {}


def test_shares():
    assert share(3, 1) == 0.75
    assert share(0, 0) is None
