"""The counters of this process (cache reads, calls to backends, requests), and the times of the stages of a request.

A subject is a kind of cached value ("post"), a tier of Memcached ("tier:l1"), a backend ("call:redis graph"), a class
of interfaces ("requests:core"), or begins with another prefix below. `servers.totals` adds up all processes.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol

HIT, MISS, NEGATIVE, GARBAGE, STALE = "hit", "miss", "negative", "garbage", "stale"
ERROR = "error"  # a tier was skipped, or did not answer
CALL, REQUESTS = "call:", "requests:"  # prefixes of backends and of classes of interfaces
OUTGOING = "outgoing:"  # prefix of requests to other sites
POOL = "pool:"  # prefix of pools of database connections
OBJECTIVE = "objective:"  # prefix of service level objectives
CALLS, MICROSECONDS, FAILED = "calls", "microseconds", "failed"
SLOW, REFUSED = "slow", "refused"  # outcomes of requests
GOOD = "good"  # events that meet their objective
BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5)  # the bounds of a histogram of request times, in seconds
OBJECTIVE_BOUNDS = (*BOUNDS, 5.0, 10.0, 30.0, 60.0)  # for the times of home pages and deliveries

Counts = Counter[tuple[str, str]]  # (subject, outcome) -> how often
Stages = dict[str, float]  # name -> seconds, in the order in which they first ended

_counts: Counts = Counter()
_lock = threading.Lock()
_observers: list["CallObserver"] = []
_stages: ContextVar[Stages | None] = ContextVar("stages", default=None)
_calls: ContextVar[Counter[str] | None] = ContextVar("calls", default=None)


def _after_fork() -> None:
    global _lock, _counts
    _lock, _counts = threading.Lock(), Counter()


os.register_at_fork(after_in_child=_after_fork)


def count(subject: str, numbers: Mapping[str, int]) -> None:
    """Add numbers by outcome. Zeros are ignored."""
    with _lock:
        for outcome, number in numbers.items():
            if number:
                _counts[subject, outcome] += number


def bound_of(seconds: float, bounds: Iterable[float] = BOUNDS) -> str:
    """The outcome under which the histogram counts a time; "" for a time above all bounds."""
    return next((f"within {bound}" for bound in bounds if seconds <= bound), "")


def drain() -> Counts:
    """The counts of this process since the last call."""
    global _counts
    with _lock:
        drained, _counts = _counts, Counter()
    return drained


def hit_rate(counts: Counts, subject: str) -> float | None:
    """Hits and negative entries as a share of all reads; None if there were no reads."""
    hits = counts[subject, HIT] + counts[subject, NEGATIVE]
    reads = hits + sum(counts[subject, outcome] for outcome in (MISS, GARBAGE, STALE, ERROR))
    return hits / reads if reads else None


def count_call(backend: str, began: float, *, failed: bool = False) -> None:
    """Count a call that `began` at a `perf_counter` time and has just ended. A backend is a store with its role.

    The time is measured from the request to its answer. If several calls wait at the same time, each counts the whole
    wait.
    """
    seconds = time.perf_counter() - began
    subject = CALL + backend
    with _lock:
        _counts[subject, CALLS] += 1
        _counts[subject, MICROSECONDS] += int(seconds * 1e6)
        if failed:
            _counts[subject, FAILED] += 1
    for observe in _observers:
        observe(backend, seconds, failed=failed)
    calls = _calls.get()
    if calls is not None:
        calls[backend] += 1


class CallObserver(Protocol):
    def __call__(self, backend: str, seconds: float, *, failed: bool) -> None: ...


def observe_calls(observer: CallObserver) -> None:
    """Call `observer` after each call to a backend, in the thread of the call."""
    if observer not in _observers:
        _observers.append(observer)


@contextmanager
def calls_counted() -> Iterator[Counter[str]]:
    """The calls that the code inside the context makes, by backend. Writes without an answer are not counted."""
    calls = Counter[str]()
    token = _calls.set(calls)
    try:
        yield calls
    finally:
        _calls.reset(token)


@contextmanager
def traced() -> Iterator[Stages]:
    """Record the stages that end inside the context, in seconds (source 000: the ten steps of a page).

    If several stages wait at the same time, each counts the whole wait, so their sum may exceed the request's time.
    Outside `traced` nothing is recorded.
    """
    stages: Stages = {}
    token = _stages.set(stages)
    try:
        yield stages
    finally:
        _stages.reset(token)


def stage(name: str) -> AbstractContextManager[None]:
    """Add the time spent inside the context to a stage."""
    return nullcontext() if _stages.get() is None else _timed(name)


@contextmanager
def _timed(name: str) -> Iterator[None]:
    began = time.perf_counter()
    try:
        yield
    finally:
        spend([name], time.perf_counter() - began)


def spend(names: Iterable[str], seconds: float) -> None:
    """Add seconds to each of these stages, if stages are being recorded."""
    stages = _stages.get()
    if stages is not None:
        for name in filter(None, names):
            stages[name] = stages.get(name, 0.0) + seconds
