"""The results: a table for the terminal; JSON, a table and a plot for `docs/bench/`."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from xml.sax.saxutils import escape

from rich.console import Console
from rich.table import Table

from tools.bench.chart import STYLE
from tools.figures import made, stamped
from tools.vitals.budgets import Line
from tools.vitals.look import Look

NAME = "vitals"
SHOWN = 20  # findings; the others are in the JSON
WIDTH, NAMES, FULL = 860, 330, 320
BAR, ROW, MARGIN = 14, 26, 16


def show(console: Console, lines: Sequence[Line]) -> None:
    table = Table()
    for heading in ("what", "found", "budget", "", "where"):
        table.add_column(heading, overflow="fold")
    for line in lines:
        table.add_row(line.what, _figure(line), _limit(line), verdict(line), line.worst)
    console.print(table)


def show_findings(console: Console, looks: Sequence[Look]) -> None:
    found = [f"{look.where}: {one}" for look in looks for one in findings(look)]
    for one in found[:SHOWN]:
        console.print(one, markup=False, highlight=False, soft_wrap=True)
    if len(found) > SHOWN:
        console.print(f"... and {len(found) - SHOWN} more")


def findings(look: Look) -> list[str]:
    """The problems found in one look at a page, in words."""
    shift = [f"moves: {look.shift:.4f}: {'; '.join(look.moved)}"] if look.shift else []
    status = [f"answers {look.status}"] if look.status != look.page.status else []
    return [*status, *map(str, look.violations), *look.wide, *shift, *look.complaints]


def verdict(line: Line) -> str:
    return "pass" if line.kept else "falls short"


def write(
    directory: Path, lines: Sequence[Line], looks: Sequence[Look], *, minutes: float, browser: str
) -> list[Path]:
    """Write `vitals.json`, `vitals.md` and `vitals.svg`. Returns their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    places = [directory / f"{NAME}.{ending}" for ending in ("json", "md", "svg")]
    data = {
        "made": made(),
        "looks": len(looks),
        "pages": sorted({look.page.name for look in looks}),
        "minutes": round(minutes, 1),
        "browser": browser,
        "lines": [{**asdict(line), "kept": line.kept} for line in lines],
        "findings": [f"{look.where}: {one}" for look in looks for one in findings(look)],
    }
    places[0].write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    places[1].write_text(_markdown(lines, looks))
    places[2].write_text(stamped(draw(lines)))
    return places


def draw(lines: Sequence[Line]) -> str:
    """A bar for each budget: the share of it that is used. Budgets of zero have no bar."""
    parts, top = [], MARGIN
    for line in lines:
        share = min(line.found / line.limit, 1) if line.limit else 0.0
        budget = f" of {_limit(line)}" if line.limit else ""
        parts.append(
            f'<text x="{NAMES - 8}" y="{top + 11}" text-anchor="end">{escape(line.what)}</text>'
            f'<rect class="other" x="{NAMES}" y="{top}" width="{FULL}" height="{BAR}" rx="2" opacity=".35"/>'
            f'<rect class="ours" x="{NAMES}" y="{top}" width="{share * FULL:.1f}" height="{BAR}" rx="2"/>'
            f'<text x="{NAMES + FULL + 8}" y="{top + 11}">{escape(_figure(line) + budget)}, {verdict(line)}</text>'
        )
        top += ROW
    size = f'viewBox="0 0 {WIDTH} {top + MARGIN}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="Budgets and what is used of them">'
    page = f'<rect class="page" width="{WIDTH}" height="{top + MARGIN}"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", page, *parts, "</svg>", ""])


def _markdown(lines: Sequence[Line], looks: Sequence[Look]) -> str:
    names = {look.page.name for look in looks}
    languages = sorted({look.language for look in looks})
    widths = sorted({look.width for look in looks})
    rows = [
        f"| {line.what} | {_figure(line)} | {_limit(line)} | {verdict(line)} |" for line in lines
    ]
    about = (
        f"{len(names)} pages, each in light and dark, at {' and '.join(map(str, widths))} px,"
        f" in {' and '.join(languages)}. Written by `./run vitals`, {made()}."
    )
    return "\n".join(
        ["# Vitals", "", about, "", "| what | found | budget | |", "|---|---|---|---|", *rows, ""]
    )  # fmt: skip


def _figure(line: Line) -> str:
    number = f"{line.found:,.0f}" if line.found == int(line.found) else f"{line.found:.3g}"
    return f"{number} {line.unit}".strip()


def _limit(line: Line) -> str:
    return "0" if line.limit is None else f"< {line.limit:g} {line.unit}".strip()
