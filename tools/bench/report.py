"""Results of a benchmark: tables for the terminal, JSON, Markdown and plots for `docs/bench/`."""

import json
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tools.bench.chart import draw, draw_growth
from tools.bench.measure import Spread
from tools.figures import made, stamped

FURTHER = "Further figures"


@dataclass(frozen=True, slots=True)
class Line:
    """One comparison.

    `passed` is None for figures without a bar, and if nothing was measured (`ours` is None then). `broken`: a part did
    not finish. `beyond`: the result exceeds the bar's long-term target. `errors` counts responses that were errors.
    `figures` are further figures, by name; lines with the same names also form a table of their own. `growth` has
    curves over `axis`: by name, the values measured at each size.
    """

    what: str
    unit: str
    ours: Spread | None
    others: dict[str, Spread] = field(default_factory=dict)
    bar: str = ""
    passed: bool | None = None
    note: str = ""
    figures: dict[str, float] = field(default_factory=dict)
    beyond: bool = False
    errors: int = 0
    broken: bool = False
    axis: str = ""
    growth: dict[str, list[tuple[float, float]]] = field(default_factory=dict)


def show(console: Console, lines: Sequence[Line]) -> None:
    """Print the lines with a bar, with their verdicts; then the others, and further figures."""
    for title, some in _with_and_without_bar(lines):
        table = Table(title=title, show_lines=True)
        for heading in ("what", "feedsite", "compared with", "bar", ""):
            table.add_column(heading)
        for line in some:
            others = "\n".join(f"{name}: {_figure(spread)}" for name, spread in line.others.items())
            ours = f"{_figure(line.ours)} {line.unit}" + (f"\n{line.note}" if line.note else "")
            table.add_row(line.what, ours, others, line.bar, verdict(line))
        console.print(table)
    for names, alike in _with_figures(lines):
        table = Table("", *names)
        for line in alike:
            table.add_row(line.what, *(_number(line.figures[name]) for name in names))
        console.print(table)


def verdict(line: Line) -> str:
    """Pass, falls short, or an empty text if there is no bar."""
    if line.passed is None:
        return "not measured" if line.bar else ""
    if not line.passed:
        return "falls short"
    return "pass, beyond" if line.beyond else "pass"


def write(
    directory: Path, suite: str, lines: Sequence[Line], servers: str, *, note: str = ""
) -> list[Path]:
    """Write `<suite>.json`, `.md`, an `.svg` of comparisons, and `<suite>-growth.svg` of curves. Returns their paths.

    `note` is printed above the tables.
    """
    directory.mkdir(parents=True, exist_ok=True)
    data = {
        "suite": suite,
        "made": made(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "servers": servers,
        "lines": [asdict(line) for line in lines],
    }
    places = [directory / f"{suite}.json"]
    places[0].write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    compared = [
        (f"{line.what} ({line.unit})", line.ours, line.others)
        for line in lines
        if line.others and line.ours and not line.growth
    ]
    if compared:
        places.append(directory / f"{suite}.svg")
        places[-1].write_text(stamped(draw(compared)))
    places.append(directory / f"{suite}.md")
    places[-1].write_text(_markdown(suite, lines, servers, note))
    grown = [
        (f"{line.what} ({line.unit})", line.axis, line.growth) for line in lines if line.growth
    ]
    if grown:
        places.append(directory / f"{suite}-growth.svg")
        places[-1].write_text(stamped(draw_growth(grown)))
    return places


def _markdown(suite: str, lines: Sequence[Line], servers: str, note: str) -> str:
    head = (
        f"# ./run bench {suite}\n\nPython {platform.python_version()}, {servers}; {os.cpu_count()} cores;"
        f" figures {made()}. They are medians, with the 10th and 90th percentiles in brackets."
    )
    parts = [head, *(["", note] if note else [])]
    for title, some in _with_and_without_bar(lines):
        rows = [
            f"| {line.what} | {_figure(line.ours)} {line.unit} | {_others(line)} | {line.bar} "
            f"| {verdict(line)} | {line.note} |"
            for line in some
        ]
        parts += ["", f"## {title}"] if title else []
        parts += [
            "",
            "| what | feedsite | compared with | bar | | notes |",
            "|---|---|---|---|---|---|",
        ]
        parts += rows
    for names, alike in _with_figures(lines):
        parts += ["", f"| | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
        for line in alike:
            figures = " | ".join(_number(line.figures[name]) for name in names)
            parts.append(f"| {line.what} | {figures} |")
    return "\n".join([*parts, ""])


def _with_and_without_bar(lines: Sequence[Line]) -> Iterator[tuple[str, list[Line]]]:
    """Lines with a bar; then, with a title, lines that are only shown."""
    barred = [line for line in lines if line.bar]
    if barred:
        yield "", barred
    if shown := [line for line in lines if not line.bar]:
        yield FURTHER if barred else "", shown


def _with_figures(lines: Sequence[Line]) -> Iterator[tuple[tuple[str, ...], list[Line]]]:
    """Groups of at least two lines with the same figures."""
    tables: dict[tuple[str, ...], list[Line]] = {}
    for line in lines:
        if line.figures:
            tables.setdefault(tuple(line.figures), []).append(line)
    return ((names, alike) for names, alike in tables.items() if len(alike) > 1)


def _others(line: Line) -> str:
    return "<br>".join(f"{name}: {_figure(spread)}" for name, spread in line.others.items())


def _figure(spread: Spread | None) -> str:
    if spread is None:
        return "-"
    if spread.low == spread.high:
        return _number(spread.median)
    return f"{_number(spread.median)} ({_number(spread.low)}-{_number(spread.high)})"


def _number(value: float) -> str:
    if value and abs(value) < 0.01:
        return f"{value:.4f}"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
