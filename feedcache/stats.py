"""Hits and misses of the caches, counted in this process: per class of data, and per tier of Memcached.

A subject is a class ("post") or a tier ("tier:l1"). The listener drains the counts once a second into `totals`.
"""

import os
import threading
from collections import Counter

HIT, MISS, NEGATIVE, GARBAGE, STALE = "hit", "miss", "negative", "garbage", "stale"
ERROR = "error"  # of a tier: it was skipped, or did not answer

Counts = Counter[tuple[str, str]]

_counts: Counts = Counter()
_lock = threading.Lock()


def _after_fork() -> None:
    global _lock, _counts
    _lock, _counts = threading.Lock(), Counter()


os.register_at_fork(after_in_child=_after_fork)


def count(subject: str, outcome: str, number: int = 1) -> None:
    """Zero adds no entry."""
    if number:
        with _lock:
            _counts[subject, outcome] += number


def counts() -> Counts:
    """The counts since the last `drain`."""
    with _lock:
        return Counter(_counts)


def drain() -> Counts:
    """The same, starting again from zero."""
    global _counts
    with _lock:
        drained, _counts = _counts, Counter()
    return drained


def hit_rate(counts: Counts, subject: str) -> float | None:
    """Hits and negative entries as a share of all reads; None when there were none."""
    hits = counts[subject, HIT] + counts[subject, NEGATIVE]
    reads = hits + sum(counts[subject, outcome] for outcome in (MISS, GARBAGE, STALE, ERROR))
    return hits / reads if reads else None
