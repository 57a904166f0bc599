"""The counts of all processes, in Redis: per ten minutes for a day, per five seconds for a minute, and in total.

The topology listener adds the counts of its process about once a second.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from feedcache.connections import Redis, configuration
from feedcache.stats import Counts

SPAN_SECONDS = 600
DAY_SPANS = 144
MOMENT_SECONDS = 5
MOMENTS = 12
KEY = "cachestats:{}"
MOMENT_KEY = "cachestats:moment:{}"
EVER = KEY.format("ever")


def add(counts: Mapping[tuple[str, str], int], *, by: Redis | None = None) -> None:
    """Add counts to those of all processes. If this raises RedisError, the counts are lost."""
    if not counts:
        return
    now = int(time.time())
    span, moment = KEY.format(now // SPAN_SECONDS), MOMENT_KEY.format(now // MOMENT_SECONDS)
    with (by or configuration()).pipeline(transaction=False) as pipeline:
        for (subject, outcome), number in counts.items():
            for key in (span, moment, EVER):
                pipeline.hincrby(key, f"{subject}|{outcome}", number)
        pipeline.expire(span, SPAN_SECONDS * (DAY_SPANS + 1))
        pipeline.expire(moment, MOMENT_SECONDS * (MOMENTS + 1))
        pipeline.execute()


def last_hour() -> Counts:
    """The counts of the last 50 to 60 minutes. Raises RedisError."""
    return sum((counts for _began, counts in last_day(hours=1)), Counts())


def last_day(*, hours: int = 24) -> list[tuple[int, Counts]]:
    """The counts per ten minutes, each with the Unix second in which they began, oldest first. Raises RedisError."""
    newest = int(time.time()) // SPAN_SECONDS
    spans = range(newest - hours * 3600 // SPAN_SECONDS + 1, newest + 1)
    return [
        (span * SPAN_SECONDS, counts)
        for span, counts in zip(spans, _read(map(KEY.format, spans)), strict=True)
    ]


def since(second: float) -> Counts | None:
    """The counts of the complete five-second spans of the last minute that began at `second` (Unix time) or later.

    None if no such span is complete yet. Raises RedisError.
    """
    # processes add their counts every second, so those of a span are complete a second after its end
    end = int(time.time() - 1) // MOMENT_SECONDS
    first = max(-int(-second // MOMENT_SECONDS), end - MOMENTS + 1)
    if first >= end:
        return None
    return sum(_read(MOMENT_KEY.format(one) for one in range(first, end)), Counts())


def ever() -> Counts:
    """The counts since Redis was last empty; they grow or restart at 0, as Prometheus expects. Raises RedisError."""
    (counts,) = _read([EVER])
    return counts


def _read(keys: Iterable[str]) -> list[Counts]:
    with configuration().pipeline(transaction=False) as pipeline:
        for key in keys:
            pipeline.hgetall(key)
        hashes: list[dict[bytes, Any]] = pipeline.execute()
    return [_counts(one) for one in hashes]


def _counts(fields: Mapping[bytes, Any]) -> Counts:
    counts: Counts = Counts()
    for name, number in fields.items():
        subject, _bar, outcome = name.decode(errors="replace").rpartition("|")
        counts[subject, outcome] += int(number)
    return counts
