"""What a request may still spend, and what it had to go without.

A read has a deadline; a source that does not answer in its share of the time is left out, the page says so, and what is
missing comes with a later read (source 003: one module's trouble must not block the key read path). Outside of a
request there is no deadline, and nobody to tell.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(slots=True)
class Budget:
    """The budget of one request: its deadline on the monotonic clock, the sources it went without, the posts it showed."""

    deadline: float
    missing: set[str] = field(default_factory=set)
    shown: set[int] = field(default_factory=set)


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def budget(seconds: float) -> Iterator[Budget]:
    """A request that should be answered within so many seconds."""
    mine = Budget(time.monotonic() + seconds)
    token = _current.set(mine)
    try:
        yield mine
    finally:
        _current.reset(token)


def seconds_left(maximum: float) -> float:
    """How long a source may take: `most`, or what is left of the request's time if that is less; never below 0."""
    mine = _current.get()
    return maximum if mine is None else max(min(maximum, mine.deadline - time.monotonic()), 0.0)


def go_without(source: str) -> None:
    """Note that the answer lacks what a source would have given."""
    mine = _current.get()
    if mine is not None:
        mine.missing.add(source)


def missing() -> list[str]:
    """The sources that the present request went without, in alphabetical order."""
    mine = _current.get()
    return sorted(mine.missing) if mine is not None else []


def show(post_ids: set[int]) -> None:
    """Note which posts the answer shows."""
    mine = _current.get()
    if mine is not None:
        mine.shown |= post_ids
