"""Keys that are read most: what is sampled, how processes add up, and what is forgotten."""

import pytest

from feedcache.connections import timelines
from feedcache.memcached_tiers import TieredCache
from feedcache.servers import hot_keys
from feedcache.topology import Topology


@pytest.fixture
def clock(monkeypatch):
    """The time, at the start of a span."""
    now = [1_000_000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    return now


@pytest.fixture(autouse=True)
def _every_read(monkeypatch):
    """Every read is looked at, and nothing of the test before."""
    monkeypatch.setattr(hot_keys, "ONE_IN", 1)
    hot_keys.send(by=timelines())
    timelines().flushdb()


def read(*names, times=1):
    for _ in range(times):
        hot_keys.sample({name.encode(): name for name in names})
    hot_keys.send()


def test_the_keys_of_reads_are_counted_over_processes_and_seconds(clock):
    read("post:1", "post:2", times=40)
    clock[0] += 10
    read("post:1", times=60)
    clock[0] += 11
    found = hot_keys.hottest(5, seconds=20)
    assert [(key.name, key.reads) for key in found] == [("post:1", 5.0), ("post:2", 2.0)]
    assert hot_keys.hottest(1, seconds=20) == found[:1]
    assert hot_keys.peak(seconds=20) == 6.0


def test_the_present_seconds_are_not_complete(clock):
    read("post:1", times=40)
    clock[0] += 9
    assert hot_keys.hottest(5, seconds=20) == []
    clock[0] += 2
    assert hot_keys.hottest(5, seconds=10) == [hot_keys.HotKey("post:1", 4.0)]
    clock[0] += 10
    assert hot_keys.hottest(5, seconds=10) == []


def test_what_was_seldom_read_is_left_out(clock):
    read("post:1", times=hot_keys.FEWEST_SAMPLES - 1)
    clock[0] += 11
    assert hot_keys.hottest(5, seconds=10) == []
    assert hot_keys.peak(seconds=10) == 0


def test_a_sample_stands_for_a_hundred_reads(clock, monkeypatch):
    monkeypatch.setattr(hot_keys, "ONE_IN", 100)
    chances = iter([0.009, 0.5, 0.99, 0.001, 0.0, 0.0, 0.0] * 3)
    monkeypatch.setattr("random.random", lambda: next(chances))
    read("post:1", times=21)
    clock[0] += 11
    assert hot_keys.hottest(5, seconds=10) == [hot_keys.HotKey("post:1", 15 * 100 / 10)]


def test_the_lists_expire(clock):
    read("post:1", times=40)
    (key,) = timelines().keys("hotkeys:*")
    assert 0 < timelines().ttl(key) <= 10 * (hot_keys.SPANS + 2)


def test_reads_of_the_tiers_are_looked_at(clock):
    cache = TieredCache(Topology(), {})
    for _ in range(40):
        cache.read(["post:1", "post:2"])
    hot_keys.send()
    clock[0] += 11
    assert {key.name for key in hot_keys.hottest(5, seconds=10)} == {"post:1", "post:2"}
