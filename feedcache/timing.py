"""The time of one request by stage, in seconds (source 000: the ten steps of a page).

Stages that wait at the same time each count the whole wait: their sum is more than the request's time. Outside `traced`
nothing is recorded.
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


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Count the time inside as that of a stage."""
    began = perf_counter()
    try:
        yield
    finally:
        spend(name, perf_counter() - began)


def spend(name: str, seconds: float) -> None:
    """Add seconds to a stage; ignored without a name."""
    stages = _stages.get()
    if stages is not None and name:
        stages[name] = stages.get(name, 0.0) + seconds
