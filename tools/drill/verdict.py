"""The checks, their numbers, and the violations."""

from collections.abc import Sequence
from dataclasses import dataclass, field

KEPT = 200  # descriptions of violations; further ones are only counted
INVARIANTS = {
    "I1": "every acknowledged post reaches every follower, and the ledger adds up",
    "I2": "nobody sees a post that they may not see",
    "I3": "a walk through the pages repeats nothing and omits nothing",
    "I4": "counts equal the rows they count",
    "I5": "the home page answers, whatever is down",
    "I7": "no page is half built",
    "I8": "work done twice changes nothing",
    "I9": "deleted posts are gone",
    "I10": "blocks, mutes and unfollows take effect on the next request",
    "I12": "people see their own posts, and pages never go back in time",
    "I19": "no dead letters",
    "I20": "consumers work again after every fault",
    "I21": "a rebuilt timeline equals the cached one",
    "I22": "explanations match the tables",
    "I23": "a revoked token never works again",
    "I31": "follows match what people did, in both tables",
    "I33": "Main and Backup change their slots without anybody noticing",
    "I34": "while a Citus worker is away, its accounts get status 503, and all others can publish",
    "I35": "while processes of two versions run beside each other, no response is an error of the site",
    "I36": "without space on a disk, reads go on, writes are refused, and the health checks say so",
    "I37": "a task that was killed in the middle succeeds when it runs again",
    "I38": "nobody waits for a lock of the migrations for longer than two seconds",
    "I32": "reported times are true, whatever the clocks say",
}


@dataclass(slots=True)
class Verdict:
    """The verdict about one invariant."""

    name: str
    checked: int = 0
    violations: int = 0
    lost: int = 0
    excused: int = 0  # see "Known gaps" in docs/drill.md
    p99: float | None = None  # seconds
    recover_s: float | None = None
    found: list[str] = field(default_factory=list)

    def violate(self, what: str, *, lost: int = 0) -> None:
        self.violations += 1
        self.lost += lost
        if len(self.found) < KEPT:
            self.found.append(what)


class Verdicts:
    """The verdicts about all invariants."""

    def __init__(self) -> None:
        self.by_name = {name: Verdict(name) for name in INVARIANTS}

    def __getitem__(self, name: str) -> Verdict:
        return self.by_name[name]

    @property
    def violations(self) -> int:
        """The number of violations of all invariants together."""
        return sum(verdict.violations for verdict in self.by_name.values())


def p99(values: Sequence[float]) -> float | None:
    """The 99th percentile; None if there are no values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)] if ordered else None
