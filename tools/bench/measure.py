"""Timing of alternatives in rotating rounds, so that a disturbance affects all of them."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

ROUNDS = 15
ROUND_SECONDS = 0.03  # a round repeats a call until it takes about this long
MOST_CALLS = 100_000


@dataclass(frozen=True, slots=True)
class Spread:
    """A median, with the tenth and ninetieth percentile."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        ordered = sorted(values)
        tenth = len(ordered) // 10
        return cls(statistics.median(ordered), ordered[tenth], ordered[-1 - tenth])

    @classmethod
    def exact(cls, value: float) -> "Spread":
        return cls(value, value, value)


def compare(
    ways: Mapping[str, Callable[[], object]], *, rounds: int | None = None
) -> dict[str, Spread]:
    """Microseconds per call of each way, in `rounds` rounds (`ROUNDS` by default)."""
    calls = {name: _calls_per_round(way) for name, way in ways.items()}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _round in range(rounds or ROUNDS):
        for name, way in ways.items():
            taken[name].append(_microseconds(way, calls[name]))
    return {name: Spread.of(values) for name, values in taken.items()}


def ratio(one: Spread, other: Spread) -> float:
    """The median of `one` divided by the median of `other`."""
    return one.median / other.median if other.median else float("inf")


def _calls_per_round(way: Callable[[], object]) -> int:
    calls = 1
    while calls < MOST_CALLS and _microseconds(way, calls) * calls < ROUND_SECONDS * 1e6:
        calls *= 2
    return calls


def _microseconds(way: Callable[[], object], calls: int) -> float:
    begin = time.perf_counter_ns()
    for _call in range(calls):
        way()
    return (time.perf_counter_ns() - begin) / calls / 1000
