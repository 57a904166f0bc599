"""The hit rate of `./run bench caches` is that of cached data, whatever else a process counts."""

import time

import pytest

from feedcache import stats
from tools.bench.caches.steady import lines_of


def test_calls_and_requests_are_no_cached_data():
    stats.drain()
    stats.count("post", {stats.HIT: 197, stats.NEGATIVE: 2, stats.MISS: 1})
    stats.count("followers", {stats.HIT: 3, stats.STALE: 1})
    stats.count("tier:l1", {stats.HIT: 5, stats.MISS: 50})
    stats.count(f"{stats.REQUESTS}core", {stats.CALLS: 10_000})
    for _call in range(1000):
        stats.count_call("redis timelines", time.perf_counter())
    [line] = lines_of(stats.drain())
    assert line.ours
    assert line.ours.median == pytest.approx(100 * 202 / 204)
    assert {name: rate.median for name, rate in line.others.items()} == {
        "followers": 75.0,
        "post": 99.5,
    }
    assert line.passed
