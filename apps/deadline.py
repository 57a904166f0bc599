"""The time left for a request, and the data sources missing from its response.

Each request has a deadline. A source that does not answer within its share of the time is skipped; the page shows a
notice, and a later read gets the data (source 003: trouble in one module must not block the key read path). Outside a
request there is no deadline, and nothing is recorded.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(slots=True)
class Budget:
    """The deadline of one request, on the monotonic clock, and the sources missing from its response."""

    deadline: float
    missing: set[str] = field(default_factory=set)
    behind: int = 0  # how many seconds late new posts reach the requested home page


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def budget(seconds: float) -> Iterator[Budget]:
    current = Budget(time.monotonic() + seconds)
    token = _current.set(current)
    try:
        yield current
    finally:
        _current.reset(token)


def seconds_left(maximum: float) -> float:
    """The seconds that a source may take: `maximum` or the time left for the request, whichever is less; at least 0."""
    current = _current.get()
    return (
        maximum if current is None else max(min(maximum, current.deadline - time.monotonic()), 0.0)
    )


def note_missing(source: str) -> None:
    """Record that the response lacks the data of a source."""
    current = _current.get()
    if current is not None:
        current.missing.add(source)


def note_behind(seconds: int) -> None:
    """Record how many seconds late new posts reach the home page that is requested."""
    current = _current.get()
    if current is not None:
        current.behind = seconds


def behind() -> int:
    """How many seconds late new posts reach the home page that is requested; 0 if they are on time."""
    current = _current.get()
    return current.behind if current is not None else 0


def missing() -> list[str]:
    """The sources that the current request has skipped, in alphabetical order."""
    current = _current.get()
    return sorted(current.missing) if current is not None else []
