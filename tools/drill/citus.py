"""`--citus`: PostgreSQL is a Citus of a coordinator and three workers, and every worker has accounts.

During the load, one worker is killed and comes back. Later another one is drained of its shards and gets its share
again. The servers are those of tools/scale/citus.py.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tools.drill.faults import Fault, Kind
from tools.drill.history import OK, Operation
from tools.drill.verdict import Verdicts
from tools.scale.citus import Cluster

WORKERS = ("citus1", "citus2", "citus3")
KILLED, DRAINED = WORKERS[0], WORKERS[2]
KILLED_AT, DRAINED_AT = 0.25, 0.5  # of the load
LONGEST_DEATH = 30.0  # seconds: longer than all tries of an event together
# Broken connections to a killed worker are noticed one by one, and Citus resolves the commits that it left unfinished.
SLACK_SECONDS = 4.0
OPEN = ("public", "unlisted")
SERVER_ERROR, AWAY = 500, 503


def plan(*, seconds: float) -> list[Fault]:
    """The kill of one worker and the drain of another, during a load of `seconds`."""
    return [
        Fault(seconds * KILLED_AT, Kind.KILL, KILLED, min(LONGEST_DEATH, seconds / 6)),
        Fault(seconds * DRAINED_AT, Kind.DRAIN, DRAINED, 0.0),
    ]


@dataclass
class Deaths:
    """When a worker was away, in seconds since the epoch, and the accounts whose rows it has."""

    cluster: Cluster
    times: list[tuple[float, float]]
    shards: list[list[int]] = field(default_factory=list)  # at the start and at the end
    accounts: set[int] = field(default_factory=set)
    rows: list[int] = field(default_factory=list)  # of each worker at the end
    transactions: list[int] = field(default_factory=list)

    def observe(self) -> None:
        """Record the figures of each worker and, the first time, the accounts on the worker to be killed."""
        if not self.shards:
            self.accounts = self.cluster.accounts_on(self.cluster.workers[WORKERS.index(KILLED)])
        self.shards.append(self.cluster.shards())
        self.rows, self.transactions = self.cluster.rows(), self.cluster.transactions()

    def overlap(self, begin: float, end: float) -> bool:
        """Whether a worker was away, or was just coming back, between two moments."""
        return any(begin < until + SLACK_SECONDS and end > since for since, until in self.times)

    def contain(self, begin: float, end: float) -> bool:
        """Whether a worker was away the whole time, and the other servers had noticed before."""
        return any(since + SLACK_SECONDS < begin and end < until for since, until in self.times)


def judge(verdicts: Verdicts, deaths: Deaths, operations: Iterable[Operation]) -> None:
    """I34: while a worker is away, no server error but 503 occurs, its accounts cannot publish, and all others can."""
    verdict = verdicts["I34"]
    for one in operations:
        if not deaths.overlap(one.begin, one.end or one.begin):
            continue
        verdict.checked += 1
        if one.status >= SERVER_ERROR and one.status != AWAY:
            verdict.violate(f"n={one.number} {one.name} of {one.actor} answered {one.status}")
        if not _is_alone(one) or not deaths.contain(one.begin, one.end):
            continue
        if one.actor in deaths.accounts and one.outcome == OK:
            verdict.violate(f"n={one.number} {one.actor} published on a worker that was away")
        if one.actor not in deaths.accounts and one.outcome != OK:
            told = f"n={one.number} {one.actor}, whose worker was there, could not publish: {one.status}"
            verdict.violate(told, lost=1)


def _is_alone(one: Operation) -> bool:
    """Whether an operation needs the rows of its own account only."""
    is_open = one.name == "publish" and one.args["visibility"] in OPEN
    return is_open and not any(one.args.get(name) for name in ("reply_to", "tag"))


def told(deaths: Deaths, operations: Sequence[Operation]) -> list[str]:
    """The lines of the report about Citus and its outages."""
    versions = (
        f"{deaths.cluster.describe()}: a coordinator and {len(deaths.cluster.workers)} workers"
    )
    shards = ", then ".join(map(_sum, deaths.shards))
    return [
        f"{versions}; shards of accounts: {shards}",
        f"rows of the workers: {_sum(deaths.rows)}; transactions since each was started: {_sum(deaths.transactions)}",
        *(_told_of(deaths, operations, since, until) for since, until in deaths.times),
    ]


def _sum(numbers: Iterable[int]) -> str:
    return " + ".join(f"{number:,}" for number in numbers)


def _told_of(deaths: Deaths, operations: Sequence[Operation], since: float, until: float) -> str:
    meanwhile = [one for one in operations if since < one.begin and one.end < until]
    seen: Counter[str] = Counter()
    for one in meanwhile:
        side = "its own" if one.actor in deaths.accounts else "others"
        partial = isinstance(one.found, dict) and one.found["degraded"]
        answer = "partial" if partial else "answered" if one.outcome == OK else str(one.status)
        seen[f"{side} {answer}"] += 1
    answers = ", ".join(f"{number} of {name}" for name, number in sorted(seen.items()))
    return f"{KILLED} was away for {until - since:.1f} s, with {len(deaths.accounts):,} accounts; acts: {answers}"
