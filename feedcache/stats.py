"""What the caches answered, counted in this process: per class of data, and per tier of Memcached.

A subject is a class ("post") or a tier ("tier:l1"); an outcome is a word. The counts go out by `drain`.
"""

import os
import threading
from collections import Counter

HIT, MISS, NEGATIVE, GARBAGE, STALE = "hit", "miss", "negative", "garbage", "stale"
ERROR = "error"  # of a tier: it was not asked, or did not answer

Counts = Counter[tuple[str, str]]

_counts: Counts = Counter()
_lock = threading.Lock()


def _after_fork() -> None:
    global _lock, _counts
    _lock, _counts = threading.Lock(), Counter()


os.register_at_fork(after_in_child=_after_fork)


def count(subject: str, outcome: str, number: int = 1) -> None:
    """Add to a count; zero leaves no trace."""
    if number:
        with _lock:
            _counts[subject, outcome] += number


def counts() -> Counts:
    """What has been counted since the last `drain`."""
    with _lock:
        return Counter(_counts)


def drain() -> Counts:
    """The same, and begin again from zero."""
    global _counts
    with _lock:
        drained, _counts = _counts, Counter()
    return drained


def hit_rate(found: Counts, subject: str) -> float | None:
    """The share of asked keys that a subject answered; an entry that says "nothing there" is an answer. None of none."""
    answered = found[subject, HIT] + found[subject, NEGATIVE]
    asked = answered + sum(found[subject, one] for one in (MISS, GARBAGE, STALE, ERROR))
    return answered / asked if asked else None
