"""I31: follows match the people's operations, in both tables."""

from collections import Counter
from collections.abc import Iterable

from django.db import connection

from apps.graph.models import Followee, Follower
from apps.graph.queries import mirror_faults
from tools.drill.facts import Facts
from tools.drill.history import OK, Operation
from tools.drill.reader import Reader
from tools.drill.replica import ReplicaFaults
from tools.drill.verdict import Verdict, Verdicts
from tools.drill.world import World

READ = "following"  # an operation: the first page of a person's followees

Pair = tuple[int, int]  # follower, followee


def replica(verdicts: Verdicts, faults: ReplicaFaults) -> float | None:
    """I20: the replica has caught up. Returns the seconds that it took."""
    verdict = verdicts["I20"]
    verdict.checked += 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_lsn()::text")
        [position] = cursor.fetchone()
    seconds = faults.catch_up(position)
    if seconds is None:
        verdict.violate("the replica does not catch up")
    return seconds


def follows(verdicts: Verdicts, facts: Facts, world: World, at: float) -> None:
    """Check that both tables mirror each other without duplicates, the counts are right, and follows match operations.

    `at`: when the tables are read, in seconds since the epoch.
    """
    verdict = verdicts["I31"]
    followees = list(Followee.objects.values_list("owner_id", "followee_id"))
    followers = list(Follower.objects.values_list("follower_id", "owner_id"))
    for name, rows in (("Followee", followees), ("Follower", followers)):
        verdict.checked += len(rows)
        for pair, number in Counter(rows).items():
            if number > 1:
                verdict.violate(f"{_told(pair)} {number} times in {name}")
    for pair in set(followees) ^ set(followers):
        verdict.violate(f"{_told(pair)} in one table only", lost=1)
    for name, number in mirror_faults().items():
        if number:
            verdict.violate(f"{number} {name}")
    judge(verdict, facts, world.follows, set(followees), at)


def judge(verdict: Verdict, facts: Facts, initial: set[Pair], rows: set[Pair], at: float) -> None:
    """Compare the rows with the acknowledged operations."""
    for pair, register in facts.follows.items():
        verdict.checked += 1
        if (pair in rows) not in register.possible(at, at):
            _differs(verdict, pair, is_there=pair in rows)
    for pair in (initial ^ rows) - facts.follows.keys():
        _differs(verdict, pair, is_there=pair in rows)


def _differs(verdict: Verdict, pair: Pair, *, is_there: bool) -> None:
    if is_there:
        verdict.violate(f"{_told(pair)}, although this was ended, or never begun")
    else:
        verdict.violate(f"{_told(pair)} no longer, although nobody ended it", lost=1)


def lists_read(
    verdicts: Verdicts, facts: Facts, initial: set[Pair], operations: Iterable[Operation]
) -> None:
    """Check that each list of followees that was read on one page during the run was complete and had nobody else."""
    verdict = verdicts["I31"]
    starts: dict[int, set[int]] = {}
    for follower, followee in initial | facts.follows.keys():
        starts.setdefault(follower, set()).add(followee)
    for one in operations:
        if one.name != READ or one.outcome != OK or one.found["next"]:
            continue
        shown = set(one.found["ids"])
        if len(shown) < len(one.found["ids"]):
            verdict.violate(f"n={one.number} the list of {one.actor} shows somebody twice")
        for other in starts.get(one.actor, set()) | shown:
            verdict.checked += 1
            pair, register = (one.actor, other), facts.follows.get((one.actor, other))
            possible = register.possible(one.begin, one.end) if register else {pair in initial}
            if (other in shown) not in possible:
                told = "shows" if other in shown else "lacks"
                lost = int(other not in shown)
                verdict.violate(f"n={one.number} the list of {one.actor} {told} {other}", lost=lost)


def lists_shown(verdicts: Verdicts, world: World, reader: Reader) -> None:
    """Check that both lists of everybody, as shown by the API at the end, match the rows of `Follower`."""
    verdict = verdicts["I31"]
    following = set(Follower.objects.values_list("follower_id", "owner_id"))
    for person in world.people:
        for name, mirror in (
            ("following", [there for here, there in following if here == person.id]),
            ("followers", [here for here, there in following if there == person.id]),
        ):
            verdict.checked += 1
            shown = reader.people(person, name)
            if sorted(shown) != sorted(mirror):
                lacks, extra = set(mirror) - set(shown), set(shown) - set(mirror)
                told = f"{name} of {person.id} lacks {sorted(lacks)[:5]}, shows {sorted(extra)[:5]} too many"
                verdict.violate(told, lost=len(lacks))


def _told(pair: Pair) -> str:
    return f"{pair[0]} follows {pair[1]}"
