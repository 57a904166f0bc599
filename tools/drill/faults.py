"""The kinds of faults, and the plan of a run: a list that depends only on the seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    KILL = "kill -9"
    KILL_CHILD = "kill -9 a child"
    FREEZE = "freeze"  # SIGSTOP, and SIGCONT at the end
    FLUSH = "flush"
    FORGET = "forget who is away"  # the bitmaps of presence are lost, the windows stay
    CUT = "cut"
    HOLE = "black hole"
    HALF_OPEN = "half open"
    DELAY = "delay"
    NARROW = "narrow link"  # limited bandwidth
    RESET = "reset"
    VANISH = "vanish"  # the connections of this moment get no FIN, no RST and no response, ever; new ones work
    FULL = "out of memory"  # Redis refuses writes, and responds to reads
    # in the middle of the load, not at random times (`in_the_middle`)
    SENTINEL_FAILOVER = "Sentinel failover"  # kill -9 of the primary
    CLUSTER_FAILOVER = "cluster failover"  # kill -9 of one of the primaries
    RESTART = "restart"  # of RabbitMQ
    HOUR_AHEAD = "clock +1 h"  # of a process (tools/drill/clocks.py)
    HOUR_BACK = "clock -1 h"
    DAY_AHEAD = "clock +1 d"
    DAY_BACK = "clock -1 d"
    DRAIN = "drain and rebalance"  # a worker of Citus gives all its shards away and gets its share again
    DISK = "full disk"  # of one of the servers, the media or the logs (tools/drill/disks.py)
    PAUSE = "pause replay"  # of the streaming replica: it responds, but gets no new data (tools/drill/replica.py)


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One fault: `at` seconds after the start of the load, healed `seconds` later."""

    at: float
    kind: Kind
    target: str
    seconds: float


HOUR, DAY = 3600, 86_400
STEPS = {Kind.HOUR_AHEAD: HOUR, Kind.HOUR_BACK: -HOUR, Kind.DAY_AHEAD: DAY, Kind.DAY_BACK: -DAY}
LINK_FAULTS = (
    Kind.CUT, Kind.HOLE, Kind.HALF_OPEN, Kind.DELAY, Kind.NARROW, Kind.RESET, Kind.VANISH,
)  # fmt: skip
RANDOM = (
    Kind.KILL, Kind.KILL_CHILD, Kind.FREEZE, Kind.FLUSH, Kind.FORGET, Kind.FULL, *LINK_FAULTS,
)  # fmt: skip
# Targets of faults. The names of the others, Memcached nodes and web servers, are arguments of `possible`.
WORKER, BEAT, TIMELINES, BROKER, POSTGRES = "worker", "beat", "timelines", "broker", "postgres"
COUNTERS = "counters"  # a Redis for data that cannot be on a cluster, with sessions and broadcasts
SINGLE, SENTINEL, CLUSTER, REDIS, RABBITMQ = "single", "sentinel", "cluster", "redis", "rabbitmq"
# What is not done to Redis behind Sentinels or on a cluster: its clients connect without a link, and the kill of a
# primary is a separate kind of fault, the failover.
NOT_BEHIND_SENTINELS = {
    (TIMELINES, kind) for kind in (Kind.KILL, Kind.FREEZE, Kind.FULL, *LINK_FAULTS)
}
# RabbitMQ's queues cannot be emptied by a command from outside, and it is restarted instead of killed.
NOT_OF_RABBITMQ = {(BROKER, Kind.FLUSH), (BROKER, Kind.KILL), (BROKER, Kind.FULL)}
LEFT_OUT = {
    SENTINEL: NOT_BEHIND_SENTINELS,
    CLUSTER: NOT_BEHIND_SENTINELS,
    RABBITMQ: NOT_OF_RABBITMQ,
}
FAILOVERS = {
    SENTINEL: (Kind.SENTINEL_FAILOVER, TIMELINES),
    CLUSTER: (Kind.CLUSTER_FAILOVER, TIMELINES),
    RABBITMQ: (Kind.RESTART, BROKER),
}
RESTART_SECONDS = 2.0  # between the stop of RabbitMQ and its next start
EVERY_SECONDS = 2.6  # between two faults, on average
SHORTEST, LONGEST = 0.2, 4.0
LONGEST_OF_A_POOLED_PROCESS = 2.0  # a dead web server or worker needs seconds to start again
NOTICED_SECONDS = 15.0  # the longest time-out of the site; a peer does not vanish again sooner
QUIET_END_SECONDS = 4.0
LEASE_SECONDS = 30.0  # work that a killed worker held is claimed again after this
SHORT_RUN_SECONDS = 150.0


def possible(
    *,
    memcached: Sequence[str],
    web: Sequence[str],
    with_postgres: bool,
    redis: str = SINGLE,
    broker: str = REDIS,
    only: Sequence[str] = (),
) -> list[tuple[str, Kind, int]]:
    """(target, kind, weight) of all faults that can happen to a site with these servers.

    `only` has the kinds that are wanted, if these are not all.
    """
    found = [(WORKER, Kind.KILL, 2), (WORKER, Kind.KILL_CHILD, 4), (WORKER, Kind.FREEZE, 3)]
    found += [(BEAT, Kind.KILL, 2), (BEAT, Kind.FREEZE, 1)]
    found += [(name, kind, 2) for name in web for kind in (Kind.KILL, Kind.KILL_CHILD, Kind.FREEZE)]
    found += [(name, Kind.RESET, 1) for name in web]
    found += [(TIMELINES, Kind.FLUSH, 4), (TIMELINES, Kind.KILL, 4), (TIMELINES, Kind.FREEZE, 3)]
    found.append((TIMELINES, Kind.FORGET, 3))
    found += [(BROKER, Kind.FLUSH, 2), (BROKER, Kind.KILL, 3), (BROKER, Kind.FREEZE, 3)]
    found += [(name, kind, 2) for name in (TIMELINES, BROKER) for kind in (Kind.FULL, *LINK_FAULTS)]
    for name in memcached:
        found += [(name, kind, 1) for kind in (Kind.KILL, Kind.FREEZE, Kind.FLUSH, *LINK_FAULTS)]
    found += [(POSTGRES, Kind.DELAY, 3), (POSTGRES, Kind.NARROW, 2)]
    if with_postgres:
        found += [(POSTGRES, Kind.KILL, 3), (POSTGRES, Kind.HOLE, 2), (POSTGRES, Kind.CUT, 3)]
        found.append((POSTGRES, Kind.VANISH, 3))
    if redis == CLUSTER:
        kinds = (Kind.FLUSH, Kind.KILL, Kind.FREEZE, Kind.FULL, *LINK_FAULTS)
        found += [(COUNTERS, kind, 2) for kind in kinds]
    left_out = LEFT_OUT.get(redis, set()) | LEFT_OUT.get(broker, set())
    return [one for one in found if one[:2] not in left_out and (not only or one[1] in only)]


def in_the_middle(*, seconds: float, redis: str, broker: str) -> list[Fault]:
    """The failovers of these servers: in the middle of the load, or of each of its minutes."""
    times = max(1, int(seconds // 60))
    return [
        Fault(round((number + 0.5) * seconds / times, 2), kind, target, RESTART_SECONDS)
        for number in range(times)
        for kind, target in (FAILOVERS[one] for one in (redis, broker) if one in FAILOVERS)
    ]


def plan(
    seed: int, *, seconds: float, choices: Sequence[tuple[str, Kind, int]], start: float = 2.0
) -> list[Fault]:
    """The faults of a run, by time. Two may overlap, but never on one target, nor on both web servers.

    In a short run, no fault kills or freezes workers near the end, because their leases would outlast the run.
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
            pause = 6.0 if target in (WORKER, BEAT) else 3.0
            busy[group] = at + lasts + (NOTICED_SECONDS if kind is Kind.VANISH else pause)
            at += chance.uniform(0.4, 1.6) * EVERY_SECONDS
        else:
            at += 0.1
    return made


def _duration(chance: random.Random, kind: Kind, target: str) -> float:
    if kind in (Kind.FLUSH, Kind.FORGET, Kind.RESET, Kind.VANISH, Kind.KILL_CHILD):
        return 0.0  # over at once
    if kind is Kind.KILL and (target in (WORKER, BEAT) or target.startswith("web")):
        return chance.uniform(SHORTEST, LONGEST_OF_A_POOLED_PROCESS)
    return chance.uniform(SHORTEST, LONGEST)
