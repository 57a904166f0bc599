"""Which faults there are, and the plan of a run: a list that a seed repeats."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    KILL = "kill -9"
    KILL_CHILD = "kill -9 a child"
    FREEZE = "freeze"  # SIGSTOP, and SIGCONT at the end
    FLUSH = "flush"
    CUT = "cut"
    HOLE = "black hole"
    HALF_OPEN = "half open"
    DELAY = "delay"
    RESET = "reset"


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One fault: `at` seconds after the start of the load, healed `seconds` later."""

    at: float
    kind: Kind
    target: str
    seconds: float


LINK_FAULTS = (Kind.CUT, Kind.HOLE, Kind.HALF_OPEN, Kind.DELAY, Kind.RESET)
# (kinds, weight of each) per target; the names of Memcached nodes and web servers are added by `possible`.
WORKER, BEAT, TIMELINES, BROKER, POSTGRES = "worker", "beat", "timelines", "broker", "postgres"
EVERY_SECONDS = 2.6  # between two faults, on average
SHORTEST, LONGEST = 0.2, 4.0
LONGEST_OF_A_POOLED_PROCESS = 2.0  # a dead web server or worker needs seconds to start again
QUIET_END_SECONDS = 4.0
LEASE_SECONDS = 30.0  # work that a killed worker held is claimed again after this
SHORT_RUN_SECONDS = 150.0


def possible(
    *, memcached: Sequence[str], web: Sequence[str], with_postgres: bool
) -> list[tuple[str, Kind, int]]:
    """(target, kind, weight) of all faults that may happen to a site of these servers."""
    found = [(WORKER, Kind.KILL, 2), (WORKER, Kind.KILL_CHILD, 4), (WORKER, Kind.FREEZE, 3)]
    found += [(BEAT, Kind.KILL, 2), (BEAT, Kind.FREEZE, 1)]
    found += [(name, kind, 2) for name in web for kind in (Kind.KILL, Kind.KILL_CHILD, Kind.FREEZE)]
    found += [(name, Kind.RESET, 1) for name in web]
    found += [(TIMELINES, Kind.FLUSH, 4), (TIMELINES, Kind.KILL, 4), (TIMELINES, Kind.FREEZE, 3)]
    found += [(BROKER, Kind.FLUSH, 2), (BROKER, Kind.KILL, 3), (BROKER, Kind.FREEZE, 3)]
    found += [(name, kind, 2) for name in (TIMELINES, BROKER) for kind in LINK_FAULTS]
    for name in memcached:
        found += [(name, kind, 1) for kind in (Kind.KILL, Kind.FREEZE, Kind.FLUSH, *LINK_FAULTS)]
    found.append((POSTGRES, Kind.DELAY, 3))
    if with_postgres:
        found += [(POSTGRES, Kind.KILL, 3), (POSTGRES, Kind.HOLE, 2), (POSTGRES, Kind.CUT, 3)]
    return found


def plan(
    seed: int, *, seconds: float, choices: Sequence[tuple[str, Kind, int]], start: float = 2.0
) -> list[Fault]:
    """The faults of a run, by time. Two may overlap; never two on one target, nor on both web servers.

    In a short run nothing kills or freezes workers near the end: the leases they held would outlast the run.
    """
    chance = random.Random(f"{seed}/faults")  # noqa: S311 -- a plan that can be repeated
    busy: dict[str, float] = {}
    made: list[Fault] = []
    at = start
    while at < seconds - QUIET_END_SECONDS:
        target, kind, _ = chance.choices(choices, [weight for _, _, weight in choices])[0]
        lasts = _duration(chance, kind, target)
        group = target.rstrip("0123456789") if target.startswith("web") else target
        late = seconds < SHORT_RUN_SECONDS and at > seconds / 3
        if busy.get(group, 0.0) <= at and not (target == WORKER and late):
            made.append(Fault(round(at, 2), kind, target, round(lasts, 2)))
            busy[group] = at + lasts + (6.0 if target in (WORKER, BEAT) else 3.0)
            at += chance.uniform(0.4, 1.6) * EVERY_SECONDS
        else:
            at += 0.1
    return made


def _duration(chance: random.Random, kind: Kind, target: str) -> float:
    if kind in (Kind.FLUSH, Kind.RESET, Kind.KILL_CHILD):
        return 0.0  # healed as soon as it is done
    if kind is Kind.KILL and (target in (WORKER, BEAT) or target.startswith("web")):
        return chance.uniform(SHORTEST, LONGEST_OF_A_POOLED_PROCESS)
    return chance.uniform(SHORTEST, LONGEST)
