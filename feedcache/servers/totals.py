"""The counts of all processes in Redis: those of the last hour, and those since Redis was last empty.

The topology listener adds the counts of its process about once a second to two hashes: one for the current ten minutes,
which expires, and one that does not expire.
"""

import time
from collections.abc import Mapping
from typing import Any

from feedcache.connections import Redis, configuration
from feedcache.stats import Counts

SPAN_SECONDS = 600
SPANS = 6
KEY = "cachestats:{}"
EVER = KEY.format("ever")


def add(counts: Mapping[tuple[str, str], int], *, by: Redis | None = None) -> None:
    """Add counts to those of all processes. Raises RedisError; then the counts are lost."""
    if not counts:
        return
    key = KEY.format(_span())
    with (by or configuration()).pipeline(transaction=False) as pipeline:
        for (subject, outcome), number in counts.items():
            pipeline.hincrby(key, f"{subject}|{outcome}", number)
            pipeline.hincrby(EVER, f"{subject}|{outcome}", number)
        pipeline.expire(key, SPAN_SECONDS * (SPANS + 1))
        pipeline.execute()


def last_hour() -> Counts:
    """The counts of the last hour. Raises RedisError."""
    newest = _span()
    return _sums([KEY.format(span) for span in range(newest - SPANS + 1, newest + 1)])


def ever() -> Counts:
    """The counts since Redis was empty. They grow, or restart at 0, as Prometheus expects. Raises RedisError."""
    return _sums([EVER])


def _sums(keys: list[str]) -> Counts:
    with configuration().pipeline(transaction=False) as pipeline:
        for key in keys:
            pipeline.hgetall(key)
        hashes: list[dict[bytes, Any]] = pipeline.execute()
    sums: Counts = Counts()
    for counts in hashes:
        for name, number in counts.items():
            subject, _bar, outcome = name.decode(errors="replace").rpartition("|")
            sums[subject, outcome] += int(number)
    return sums


def _span() -> int:
    return int(time.time()) // SPAN_SECONDS
