"""All figures with their bars, as tables and as JSON."""

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tools.house.lines import Lines, count_files, python_files
from tools.house.names import ad_hoc_modules, modules_by_folder, underscore_names
from tools.house.trace import Trace

PRODUCT = ("apps", "feedsite", "feedcache")
OWN = (*PRODUCT, "runner", "tools", "tests")
# Imports included, without docstrings, comments and blank lines. To raise the limit, give the reason in a new decision
# and set both constants; a test compares the limit with the decision.
CORE_LINES, CORE_DECISION = 47_200, "0205"
MAX_GROWTH = 1_000
MAX_MODULES = 12  # per folder
MAX_FILES = {"home_timeline": 16, "publish_post": 14}
MAX_WAYS = {"home_timeline": 90, "publish_post": 90}
LISTS_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure, and its maximum; None if there is none."""

    name: str
    value: int
    maximum: int | None = None

    @property
    def is_met(self) -> bool:
        """Whether the figure is within its bar; always true without one."""
        return self.maximum is None or self.value <= self.maximum

    @property
    def verdict(self) -> str:
        if self.maximum is None:
            return ""
        return f"{'ok' if self.is_met else 'too much'}: at most {self.maximum:,}"


@dataclass(frozen=True, slots=True)
class House:
    """All figures of `./run house`."""

    apps: Mapping[str, Lines]
    bars: list[Bar]
    folders: Mapping[str, int]
    ad_hoc: Mapping[str, list[str]]
    underscores: list[str]

    def as_json(self) -> dict[str, Any]:
        return {
            "apps": {
                name: {**asdict(lines), "total": lines.total} for name, lines in self.apps.items()
            },
            "bars": [{**asdict(bar), "is_met": bar.is_met} for bar in self.bars],
            "folders": dict(self.folders),
            "ad_hoc_modules": dict(self.ad_hoc),
            "underscore_names": self.underscores,
        }


def survey(root: Path, traces: Mapping[str, Trace]) -> House:
    """Measure the files below `root`."""
    product = [path for name in PRODUCT for path in python_files(root / name)]
    relative = [path.relative_to(root) for path in product]
    sources = {path.relative_to(root): path.read_text("utf-8") for path in product}
    folders = modules_by_folder(relative).most_common()
    lines, optional = dict(_by_app(root)), _optional_apps(root)
    return House(
        lines,
        [
            Bar(
                "lines of the core (apps but the optional ones, feedsite)",
                sum(
                    one.code + one.imports
                    for name, one in lines.items()
                    if name != "feedcache" and f"apps.{name}" not in optional
                ),
                CORE_LINES + MAX_GROWTH,
            ),
            Bar("lines of apps, feedsite and feedcache", sum(one.total for one in lines.values())),
            Bar("migration lines", _migrations(root).total),
            Bar("test lines", count_files(python_files(root / "tests")).total),
            Bar("modules of the fullest folder", folders[0][1] if folders else 0, MAX_MODULES),
            *_trace_bars(traces),
        ],
        {str(path): number for path, number in folders},
        {str(path): names for path, names in ad_hoc_modules(relative).items()},
        underscore_names(sources, OWN),
    )


def _optional_apps(root: Path) -> Collection[str]:
    """The optional apps, read from the source: importing the settings needs an environment."""
    tree = ast.parse((root / "feedsite/settings.py").read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "POSSIBLE_APPS":
            found: list[str] = ast.literal_eval(node.value)
            return found
    raise LookupError("feedsite/settings.py names no POSSIBLE_APPS")


def _by_app(root: Path) -> Iterator[tuple[str, Lines]]:
    for folder in sorted((root / "apps").iterdir()):
        if folder.is_dir() and (files := python_files(folder)):
            yield folder.name, count_files(files)
    yield "(loose in apps)", count_files(sorted((root / "apps").glob("*.py")))
    for name in PRODUCT[1:]:
        if files := python_files(root / name):
            yield name, count_files(files)


def _migrations(root: Path) -> Lines:
    return count_files(python_files(root / "apps", migrations=True))


def _trace_bars(traces: Mapping[str, Trace]) -> Iterator[Bar]:
    for name, trace in traces.items():
        yield Bar(f"{name}: own files", trace.files, MAX_FILES.get(name))
        yield Bar(f"{name}: ways into another folder", trace.ways_in, MAX_WAYS.get(name))
        yield Bar(f"{name}: own functions", trace.functions)
        yield Bar(f"{name}: own calls", len(trace.calls))


def show(house: House, console: Console) -> None:
    console.print(_lines_table(house.apps))
    console.print(_folders_table(house.folders))
    console.print(_ad_hoc_table(house.ad_hoc))
    console.print(_underscores_table(house.underscores))
    console.print(_bars_table(house.bars))


def _table(title: str, *columns: str, numbers: bool = True) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(columns[0])
    for column in columns[1:]:
        table.add_column(column, justify="right" if numbers else "left")
    return table


def _lines_table(apps: Mapping[str, Lines]) -> Table:
    columns = ("code", "imports", "docstrings", "comments", "blank", "total")
    table = _table("Lines, migrations apart", "app", *columns)
    together = sum(apps.values(), Lines())
    by_size = sorted(apps.items(), key=lambda item: -item[1].total)
    for name, lines in [*by_size, ("together", together)]:
        table.add_row(name, *(f"{getattr(lines, column):,}" for column in columns))
    return table


def _folders_table(folders: Mapping[str, int]) -> Table:
    table = _table("Modules of the fullest folders", "folder", "modules", "bar")
    for name, number in list(folders.items())[:LISTS_SHOWN]:
        table.add_row(name, str(number), Bar(name, number, MAX_MODULES).verdict)
    return table


def _ad_hoc_table(ad_hoc: Mapping[str, list[str]]) -> Table:
    table = _table("Modules that are not named for a role", "folder", "names", numbers=False)
    for folder, names in list(ad_hoc.items())[:LISTS_SHOWN]:
        table.add_row(folder, f"{len(names)}: {' '.join(names)}")
    return table


def _underscores_table(names: list[str]) -> Table:
    table = _table("Underscore names of dependencies", "where", "name", numbers=False)
    for where, name in (line.split(" ") for line in names):
        table.add_row(where, name)
    return table


def _bars_table(bars: list[Bar]) -> Table:
    table = _table("Bars", "what", "figure", "bar")
    for bar in bars:
        table.add_row(bar.name, f"{bar.value:,}", bar.verdict)
    return table
