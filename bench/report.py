"""What a benchmark found: a table for the terminal, JSON and a plot for `docs/bench/`."""

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.chart import draw
from bench.measure import Spread


@dataclass(frozen=True, slots=True)
class Line:
    """One comparison. `passed` is None where figures are shown without a bar."""

    what: str
    unit: str
    ours: Spread
    others: dict[str, Spread] = field(default_factory=dict)
    bar: str = ""
    passed: bool | None = None
    note: str = ""


def show(console: Console, lines: Sequence[Line]) -> None:
    """Print the table, with pass or fall short per line."""
    table = Table(show_lines=True)
    for heading in ("what", "feedsite", "otherwise", "bar", ""):
        table.add_column(heading)
    for line in lines:
        others = "\n".join(f"{name}: {_figure(spread)}" for name, spread in line.others.items())
        ours = f"{_figure(line.ours)} {line.unit}" + (f"\n{line.note}" if line.note else "")
        table.add_row(line.what, ours, others, line.bar, verdict(line))
    console.print(table)


def verdict(line: Line) -> str:
    """Pass, falls short, or nothing where there is no bar."""
    return {None: "", True: "pass", False: "falls short"}[line.passed]


def write(directory: Path, suite: str, lines: Sequence[Line], servers: str) -> list[Path]:
    """Write `<suite>.json`, `<suite>.svg` and `<suite>.md`; where they are."""
    directory.mkdir(parents=True, exist_ok=True)
    data = {
        "suite": suite,
        "python": platform.python_version(),
        "servers": servers,
        "lines": [asdict(line) for line in lines],
    }
    places = [directory / f"{suite}.{kind}" for kind in ("json", "svg", "md")]
    places[0].write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    rows = [(f"{line.what} ({line.unit})", line.ours, line.others) for line in lines]
    places[1].write_text(draw(rows))
    places[2].write_text(_markdown(suite, lines, servers))
    return places


def _markdown(suite: str, lines: Sequence[Line], servers: str) -> str:
    """The same as a table."""
    rows = [
        f"| {line.what} | {_figure(line.ours)} {line.unit} | {_others(line)} | {line.bar} | {verdict(line)} | {line.note} |"
        for line in lines
    ]
    head = f"# ./run bench {suite}\n\nPython {platform.python_version()}, {servers}. Medians, with the tenth and ninetieth percentile."
    table = ["| what | feedsite | otherwise | bar | | more |", "|---|---|---|---|---|---|", *rows]
    return "\n".join([head, "", *table, ""])


def _others(line: Line) -> str:
    return "<br>".join(f"{name}: {_figure(spread)}" for name, spread in line.others.items())


def _figure(spread: Spread) -> str:
    if spread.low == spread.high:
        return _number(spread.median)
    return f"{_number(spread.median)} ({_number(spread.low)}-{_number(spread.high)})"


def _number(value: float) -> str:
    if value and abs(value) < 0.01:
        return f"{value:.4f}"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
