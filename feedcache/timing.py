"""Where the time of one request goes: named stages, each with the seconds it took (source 000: the ten steps of a page).

Stages that wait at the same time each count the whole wait: their sum is more than the request, their longest is less.
Outside `traced` nothing is kept.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter

Stages = dict[str, float]  # name -> seconds, in the order in which they first ended

_stages: ContextVar[Stages | None] = ContextVar("stages", default=None)


@contextmanager
def traced() -> Iterator[Stages]:
    """The stages that end inside."""
    stages: Stages = {}
    token = _stages.set(stages)
    try:
        yield stages
    finally:
        _stages.reset(token)


class stage:  # noqa: N801 -- used like a function; a generator would take three times as many calls, ten times a page
    """Count the time inside as that of a stage."""

    __slots__ = ("_began", "_name")

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        """It begins."""
        self._began = perf_counter()

    def __exit__(self, *_error: object) -> None:
        """It ends."""
        spend(self._name, perf_counter() - self._began)


def spend(name: str, seconds: float) -> None:
    """Count seconds as those of a stage; of none without a name."""
    stages = _stages.get()
    if stages is not None and name:
        stages[name] = stages.get(name, 0.0) + seconds
