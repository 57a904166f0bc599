"""Probes of real nodes, and the sums of what all processes counted."""

import time

import pytest

from feedcache import connections, totals
from feedcache.connections import timelines
from feedcache.health import RedisHealth, health_of, node_health, probe, redis_health, share
from tests.support.faults import dead_redis, frozen
from tests.support.services import running


@pytest.fixture
def node():
    if not running().memcached:
        pytest.skip("no memcached on this machine")
    return running().memcached[0]


def test_a_node_that_works(node):
    assert probe(node.address) == ""
    health = node_health(node.address)
    assert health.is_well
    assert health.max_bytes == 64 * 1024 * 1024
    assert health.milliseconds > 0
    assert health.hit_rate is not None


def test_a_probe_leaves_nothing_behind(node):
    before = node_health(node.address).items
    assert node_health(node.address).items == before


def test_a_node_that_is_not_there():
    health = node_health("unix:/nothing-here.sock")
    assert not health.is_well
    assert health.hit_rate is None
    assert "No such file" in health.error


def test_many_nodes_take_as_long_as_the_slowest(node):
    addresses = [node.address, *(f"unix:/nothing-{n}.sock" for n in range(20))]
    began = time.monotonic()
    with frozen(node):
        found = health_of(addresses)
    assert time.monotonic() - began < 2
    assert [url for url, health in found.items() if health.is_well] == []
    assert health_of([]) == {}


def test_the_servers_of_redis():
    found = {server.name: server for server in redis_health()}
    assert set(found) == {"timelines", "graph", "counters", "existence", "limits"}
    assert all(server.bytes_used > 0 and not server.may_lose for server in found.values())
    with dead_redis():
        assert all(server.error for server in redis_health())


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
    assert RedisHealth(name, "", max_bytes=maximum, policy=policy).may_lose is loses


def test_no_password_is_shown(settings):
    settings.REDIS_COUNTERS_URL = "redis://somebody:secret@127.0.0.1:1/3"
    connections.counters.cache_clear()
    try:
        (server,) = [one for one in redis_health() if one.name == "counters"]
    finally:
        connections.counters.cache_clear()
    assert server.address == "127.0.0.1:1 db 3"
    assert "secret" not in repr(server)


def test_sums_of_all_processes():
    totals.add({("post", "hit"): 2, ("post", "miss"): 1})
    totals.add({("post", "hit"): 3})
    totals.add({})
    assert totals.total() == {("post", "hit"): 5, ("post", "miss"): 1}


def test_sums_end_with_their_hour(monkeypatch):
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 7200)
    totals.add({("post", "hit"): 2})
    monkeypatch.undo()
    assert totals.total() == {}
    (key,) = timelines().scan_iter("cachestats:*")
    assert 0 < timelines().ttl(key) <= 4200


def test_shares():
    assert share(3, 1) == 0.75
    assert share(0, 0) is None
