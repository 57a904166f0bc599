"""The output of a run, printed and as JSON."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tools.drill.failovers import Outage
from tools.drill.history import FAIL, OK, UNKNOWN, Operation
from tools.drill.verdict import INVARIANTS, Verdict, Verdicts

SHOWN = 8  # violations of each invariant on the screen; the JSON has more


@dataclass(frozen=True, slots=True)
class Run:
    seed: int
    minutes: float
    posts: int  # acknowledged
    operations: int
    ok: int
    failed: int
    unknown: int
    faults: int
    deaths: tuple[str, ...]
    given_up: tuple[str, ...]  # ended because of a fault, and restarted by their supervisor
    outages: tuple[Outage, ...] = ()
    told: tuple[str, ...] = ()  # about the replica, changes of slots, and Citus


def figures(  # noqa: PLR0913 -- the columns of one row
    operations: list[Operation],
    counts: Counter[tuple[str, str]],
    *,
    seed: int,
    minutes: float,
    deaths: list[str],
    given_up: list[str],
    outages: Sequence[Outage] = (),
) -> Run:
    outcomes = Counter(one.outcome for one in operations)
    posts = sum(one.name in ("publish", "repost") and one.outcome == OK for one in operations)
    return Run(
        seed, minutes, posts, len(operations), outcomes[OK], outcomes[FAIL], outcomes[UNKNOWN],
        sum(counts.values()), tuple(deaths), tuple(given_up), tuple(outages),
    )  # fmt: skip


def line(verdict: Verdict, run: Run) -> str:
    return (
        f"invariant={verdict.name} seed={run.seed} ops={verdict.checked} faults={run.faults}"
        f" violations={verdict.violations} lost={verdict.lost} p99={_seconds(verdict.p99)}"
        f" recover_s={_seconds(verdict.recover_s)}"
        + (f" excused={verdict.excused}" if verdict.excused else "")
    )


def show(
    console: Console, run: Run, verdicts: Verdicts, counts: Mapping[tuple[str, str], int]
) -> None:
    table = Table(title="Faults", title_justify="left")
    for column in ("kind", "times", "targets"):
        table.add_column(column, justify="right" if column == "times" else "left")
    for kind in sorted({kind for kind, _ in counts}):
        of_kind = {
            target: number for (one, target), number in sorted(counts.items()) if one == kind
        }
        targets = ", ".join(f"{target} {number}" for target, number in of_kind.items())
        table.add_row(kind, str(sum(of_kind.values())), targets)
    console.print(table)
    for told in run.told:
        console.print(told, highlight=False, soft_wrap=True)
    console.print(
        f"posts={run.posts} operations={run.operations} ok={run.ok} refused={run.failed} unknown={run.unknown}"
        f" faults={run.faults} deaths={len(run.deaths)}"
        f" given_up={len(run.given_up)}",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    for outage in run.outages:
        console.print(str(outage), highlight=False, soft_wrap=True)
    for name, verdict in verdicts.by_name.items():
        console.print(line(verdict, run), highlight=False, soft_wrap=True)
        for told in verdict.found[:SHOWN]:
            console.print(f"    {INVARIANTS[name]}: {told}", highlight=False, soft_wrap=True)


def write(place: Path, run: Run, verdicts: Verdicts, counts: Mapping[tuple[str, str], int]) -> None:
    data: dict[str, Any] = {
        **asdict(run),
        "by_fault": [
            {"kind": kind, "target": target, "number": number}
            for (kind, target), number in sorted(counts.items())
        ],
        "invariants": [asdict(verdict) for verdict in verdicts.by_name.values()],
    }
    place.write_text(json.dumps(data, indent=1) + "\n")


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
