"""Entry point of `./run vitals`."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from runner.problems import LaunchError
from vitals import report
from vitals.browser import MISSING, PROGRAM
from vitals.budgets import Line, lines_of, lines_of_paints
from vitals.look import Look
from vitals.pages import PAGES, Page, named
from vitals.shots import SHOWN, shoot
from vitals.site import CAST, demo_site
from vitals.speed import paints
from vitals.stage import Scene, prepare
from vitals.survey import LANGUAGES, WIDTHS, survey

ROOT = Path(__file__).resolve().parent.parent
TIMED = ("home", "local", "profile", "thread", "landing")
EXAMPLES = """\
examples:
  ./run vitals                                  every page and budget, some minutes; writes docs/bench/
  ./run vitals --only home --only thread        these pages, to look at while working on them
  ./run vitals --site http://127.0.0.1:8000     a site that runs already with the demo people
  ./run vitals --shots docs/img                 pictures of the ten pages that are shown, and nothing else
"""


def main(command_line: list[str]) -> int:
    """Measure; 1 when a budget is missed, 2 when nothing can be measured."""
    options = _parser().parse_args(command_line)
    console = Console()
    if PROGRAM is None:
        console.print(MISSING)
        return 2
    try:
        with _site(options.site, console) as site:
            return _run(options, console, site)
    except LaunchError as error:
        console.print(str(error), markup=False)
        return 2


def _run(options: argparse.Namespace, console: Console, site: str) -> int:
    scene = prepare(site, CAST)
    if options.shots:
        with console.status("Taking pictures"):
            made = shoot(scene, named(list(SHOWN)), options.shots)
        console.print(f"{len(made)} pictures in {options.shots}")
        return 0
    pages = named(options.only)
    looks = _look(console, scene, pages)
    lines = [*lines_of(looks), *_time(console, scene, pages)]
    report.show_findings(console, looks)
    report.show(console, lines)
    if options.write and not options.only:
        for place in report.write(options.directory, lines, looks):
            console.print(f"wrote {place}")
    return 0 if all(line.kept for line in lines) else 1


def _look(console: Console, scene: Scene, pages: list[Page]) -> list[Look]:
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("Looking at pages", total=len(pages) * len(LANGUAGES) * len(WIDTHS))
        return survey(scene, pages, done=lambda _look: progress.advance(bar))


def _time(console: Console, scene: Scene, pages: list[Page]) -> list[Line]:
    timed = [page for page in pages if page.name in TIMED]
    if not timed:
        return []
    with console.status("Timing"):
        return lines_of_paints(paints(scene, timed))


@contextmanager
def _site(given: str | None, console: Console) -> Iterator[str]:
    if given:
        yield given.rstrip("/")
        return
    with console.status("Starting a site with demo people"):
        started = demo_site()
        address = started.__enter__()
    try:
        yield address
    finally:
        started.__exit__(None, None, None)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./run vitals",
        description="Opens every page in Chromium, in light and dark, narrow and wide, in both languages, and compares what"
        " it finds with the budgets: accessibility (axe-core), weight, layout shift, speed. Exit status 1 when one is missed.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--only", action="append", choices=[page.name for page in PAGES], metavar="PAGE", default=[],
        help="one page; may be given again: " + ", ".join(page.name for page in PAGES),
    )  # fmt: skip
    parser.add_argument(
        "--site", metavar="URL", help="a running site with demo people (default: one of its own)"
    )
    parser.add_argument(
        "--shots", type=Path, metavar="DIR", help="take pictures of ten pages instead"
    )
    parser.add_argument(
        "--directory", type=Path, default=ROOT / "docs" / "bench", metavar="DIR",
        help="where JSON, table and plot go (default: docs/bench)",
    )  # fmt: skip
    parser.add_argument("--no-write", dest="write", action="store_false", help="only print")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
