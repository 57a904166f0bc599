"""The Memcached keys that are read most often, over all processes.

Every process samples one in a hundred of its reads, and counts each key of the sample as a hundred reads. So the
figures are estimates, and rarely read keys are missing. The counts are in Redis, in a sorted set for every ten seconds.
"""

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from feedcache.connections import Redis, configuration

ONE_IN = 100
SPAN_SECONDS = 10
SPANS = 60  # ten minutes
MOST_KEYS = 100  # sent by a process per second, and read from each span
MOST_SAMPLED = 20_000  # distinct keys of a process, between two calls of `send`
FEWEST_SAMPLES = 5  # per key and span; keys with fewer are left out
KEY = "hotkeys:{}"

_lock = threading.Lock()
_sampled: Counter[bytes] = Counter()


def _after_fork() -> None:
    global _lock, _sampled
    _lock, _sampled = threading.Lock(), Counter()


os.register_at_fork(after_in_child=_after_fork)


@dataclass(frozen=True, slots=True)
class HotKey:
    """A key and its reads per second, averaged over the requested time."""

    name: str
    reads: float


def sample(keys: Collection[bytes]) -> None:
    """In one call out of a hundred, add the keys of a read to the sample."""
    if random.random() * ONE_IN < 1:  # noqa: S311 -- not a secret
        with _lock:
            if len(_sampled) < MOST_SAMPLED:
                _sampled.update(list(keys))  # Counter would add the values of a mapping


def send(*, by: Redis | None = None) -> None:
    """Add the samples of this process to those of all processes. If this raises RedisError, they are lost."""
    global _sampled
    with _lock:
        sampled, _sampled = _sampled, Counter()
    if not sampled:
        return
    span = KEY.format(int(time.time()) // SPAN_SECONDS)
    with (by or configuration()).pipeline(transaction=False) as pipeline:
        for key, number in sampled.most_common(MOST_KEYS):
            pipeline.zincrby(span, number * ONE_IN, key)
        pipeline.expire(span, SPAN_SECONDS * (SPANS + 2))
        pipeline.execute()


def hottest(number: int, *, seconds: int) -> list[HotKey]:
    """The keys that were read most in the most recent complete spans. Raises RedisError."""
    spans = _spans(seconds)
    reads: Counter[str] = Counter()
    for found in _read(spans, MOST_KEYS):
        for name, count in found:
            reads[name.decode(errors="replace")] += int(count)
    top = reads.most_common(number)
    return [HotKey(name, count / len(spans) / SPAN_SECONDS) for name, count in top]


def peak(*, seconds: int) -> float:
    """The most reads per second that any key had in one span. Raises RedisError."""
    counts = (count for found in _read(_spans(seconds), 1) for _name, count in found)
    return max(counts, default=0.0) / SPAN_SECONDS


def _spans(seconds: int) -> range:
    """The most recent complete spans. A second after a span ends, the last samples of other processes have arrived."""
    end = int(time.time() - 1) // SPAN_SECONDS
    return range(end - max(seconds // SPAN_SECONDS, 1), end)


def _read(spans: range, number: int) -> list[list[tuple[bytes, float]]]:
    with configuration().pipeline(transaction=False) as pipeline:
        for span in spans:
            pipeline.zrange(KEY.format(span), 0, number - 1, desc=True, withscores=True)
        lists: list[Any] = pipeline.execute()
    fewest = FEWEST_SAMPLES * ONE_IN
    return [[(name, count) for name, count in found if count >= fewest] for found in lists]
