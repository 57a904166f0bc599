"""Hits and misses of all processes within the last hour, summed in Redis.

Each process adds its counts about once a second, into a hash per ten minutes; the hashes expire.
"""

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from feedcache.redis_servers.connections import Redis, timelines

SPAN_SECONDS = 600
SPANS = 6
KEY = "cachestats:{}"

Counts = Mapping[tuple[str, str], int]  # (subject, outcome) -> how often


def add(counts: Counts, *, by: Redis | None = None) -> None:
    """Raises RedisError: then the counts are lost."""
    if not counts:
        return
    key = KEY.format(_span())
    with (by or timelines()).pipeline(transaction=False) as pipeline:
        for (subject, outcome), number in counts.items():
            pipeline.hincrby(key, f"{subject}|{outcome}", number)
        pipeline.expire(key, SPAN_SECONDS * (SPANS + 1))
        pipeline.execute()


def total() -> Counter[tuple[str, str]]:
    """The sums of the last hour, of all processes. Raises RedisError."""
    newest = _span()
    with timelines().pipeline(transaction=False) as pipeline:
        for span in range(newest - SPANS + 1, newest + 1):
            pipeline.hgetall(KEY.format(span))
        spans: list[dict[bytes, Any]] = pipeline.execute()
    sums: Counter[tuple[str, str]] = Counter()
    for counts in spans:
        for name, number in counts.items():
            subject, _bar, outcome = name.decode(errors="replace").rpartition("|")
            sums[subject, outcome] += int(number)
    return sums


def _span() -> int:
    return int(time.time()) // SPAN_SECONDS
