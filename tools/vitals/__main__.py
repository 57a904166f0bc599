"""Entry point of `./run vitals`."""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Error
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from runner.checkout import ROOT
from runner.terminal import LaunchError
from tools import run_tool
from tools.vitals import report, warm
from tools.vitals.browser import MISSING, PROGRAM, version
from tools.vitals.budgets import (
    Line,
    line_of_presses,
    line_of_warmth,
    lines_of,
    lines_of_times,
    not_measured,
)
from tools.vitals.look import Look
from tools.vitals.notes import Notes
from tools.vitals.pages import LANGUAGES, PAGES, Page, named
from tools.vitals.shots import SHOWN, shoot, shoot_landing
from tools.vitals.site import CAST, demo_site
from tools.vitals.speed import ROUNDS, presses, times
from tools.vitals.stage import Scene, prepare
from tools.vitals.survey import WIDTHS, survey

TIMED = ("home", "ranked", "local", "profile", "thread", "notifications", "explain", "landing")
HOME = "home"
# For --short: home with an open menu, in Chinese in a narrow window, and the error page, in English in a wide one.
SHORT_SURVEY = {
    ("zh-hans",): (named(("home-menu",)), (390,)),
    ("en",): (named(("missing",)), (1280,)),
}
SHORT_TIMED = (HOME,)
EXAMPLES = """\
examples:
  ./run vitals                                  every page and budget, in about ten minutes; writes docs/bench/
  ./run vitals --short                          two pages, less than a minute; writes nothing
  ./run vitals --only home --only 'settings-*'  only these pages, while working on them
  ./run vitals --resume                         measure only pages that had findings or that a stopped run left out
  ./run vitals --pages                          list the names of all pages
  ./run vitals --site http://127.0.0.1:8000     use a running site with the demo people
  ./run vitals --shots docs/img                 only take screenshots of ten pages
  ./run vitals --landing static/img             only take those of the landing page
"""


def main(command_line: list[str]) -> int:
    """Measure. Returns 1 if a budget is exceeded, 2 if nothing can be measured, 130 if stopped."""
    options = command_parser().parse_args(command_line)
    console = Console()
    if options.pages:
        for page in options.only or PAGES:
            console.print(f"{page.name:24}{page.address}", highlight=False, markup=False)
        return 0
    if PROGRAM is None:
        console.print(MISSING)
        return 2
    try:
        with TemporaryDirectory() as elsewhere, _site(options.site, console) as site:
            if options.short:
                options.directory = Path(elsewhere)
            return _run(options, console, site)
    except (LaunchError, Error, RuntimeError) as error:
        console.print(str(error), markup=False)
        return 2
    except KeyboardInterrupt:
        console.print("Stopped. Use --resume to continue.")
        return 130


def _run(options: argparse.Namespace, console: Console, site: str) -> int:
    began = time.monotonic()
    scene = prepare(site, CAST, talks=not (options.landing or options.shots))
    if options.landing:
        with console.status("Taking the pictures of the landing page"):
            made = shoot_landing(scene, options.landing)
        console.print(f"{len(made)} pictures in {options.landing}")
        return 0
    if options.shots:
        pages = options.only or named(SHOWN)
        with _progress(console, "Taking pictures", len(pages) * len(WIDTHS)) as advance:
            made = shoot(scene, pages, options.shots, done=advance)
        console.print(f"{len(made)} pictures in {options.shots}")
        return 0
    looks: list[Look] = []
    lines: list[Line] = []
    for what, measure in _parts(options, console, scene, looks):
        lines += _lines_of_part(console, what, measure)
    report.show_findings(console, looks)
    report.show(console, lines)
    minutes = (time.monotonic() - began) / 60
    console.print(f"{len(looks)} looks, {minutes:.1f} minutes")
    if options.write and not options.only:
        for place in report.write(
            options.directory, lines, looks, minutes=minutes, browser=version()
        ):
            console.print(f"wrote {place}")
    if options.short:
        lines = [line for line in lines if not line.needs_quiet]
        console.print("Times and shifts do not count here: they need an idle machine.")
    return 0 if all(line.kept for line in lines) else 1


Part = tuple[str, Callable[[], list[Line]]]


def _parts(
    options: argparse.Namespace, console: Console, scene: Scene, looks: list[Look]
) -> Iterator[Part]:
    """The measurements of the selected pages; the first one fills `looks`."""
    pages = named(SHORT_TIMED) if options.short else options.only or list(PAGES)
    yield "looks at pages", lambda: _look(options, console, scene, looks)
    rounds = 1 if options.short else ROUNDS
    if timed := [page for page in pages if page.name in TIMED]:
        yield "times", lambda: _time(console, scene, timed, rounds)
    if home := [page for page in pages if page.name == HOME]:
        yield "presses", lambda: _press(console, scene, home[0], rounds)
        if not options.short:  # it runs tests that `./run check` also runs
            yield "a warm home page", lambda: _warm(console)


def _lines_of_part(console: Console, what: str, measure: Callable[[], list[Line]]) -> list[Line]:
    """The lines of a part, or a line with the reason why there are none."""
    try:
        return measure()
    except (Error, RuntimeError) as error:
        console.print(f"{what}: {error}", markup=False)
        return [not_measured(what, str(error).splitlines()[0])]


def _look(
    options: argparse.Namespace, console: Console, scene: Scene, looks: list[Look]
) -> list[Line]:
    """Fill `looks`, even if the part does not finish."""
    pages = options.only or list(PAGES)
    plan = SHORT_SURVEY if options.short else {LANGUAGES: (pages, WIDTHS)}
    pages = [page for some, _widths in plan.values() for page in some]
    notes = Notes(options.directory)
    if not options.resume:
        notes.clear()
    known = [look for look in notes.read(pages) if not report.findings(look)]
    missing = sum(
        len(some) * len(languages) * len(widths) for languages, (some, widths) in plan.items()
    )
    with _progress(console, "Looking at pages", missing - len(known)) as advance:

        def note(look: Look) -> None:
            notes.add(look)
            advance()

        try:
            for languages, (some, widths) in plan.items():
                survey(scene, some, languages=languages, widths=widths, known=known, done=note)
        finally:
            looks += notes.read(pages)
    if not any(report.findings(look) for look in looks):
        notes.clear()
    return lines_of(looks)


def _time(console: Console, scene: Scene, pages: list[Page], rounds: int) -> list[Line]:
    with _progress(console, "Timing", len(pages)) as advance:
        return lines_of_times(times(scene, pages, rounds=rounds, done=advance))


def _press(console: Console, scene: Scene, home: Page, rounds: int) -> list[Line]:
    with console.status("Pressing buttons"):
        return [line_of_presses(presses(scene, home, rounds=rounds))]


def _warm(console: Console) -> list[Line]:
    with console.status("Counting what a warm home page asks"):
        return [line_of_warmth(*warm.misses())]


@contextmanager
def _progress(console: Console, what: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal; elsewhere a line for every tenth."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task(what, total=total)

        def advance() -> None:
            progress.advance(bar)
            done = round(progress.tasks[0].completed)
            if not console.is_terminal and done * 10 // total > (done - 1) * 10 // total:
                console.print(f"{what}: {done} of {total}", highlight=False)

        yield advance


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


def command_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./run vitals",
        description="Opens every page in Chromium, light and dark, narrow and wide, in both languages, and compares"
        " the results with the budgets: accessibility (axe-core), weight, layout shift, speed."
        " Exit status 1 if one is exceeded.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--only", action="extend", type=_fitting, metavar="PAGE", default=[],
        help="a page, or a pattern of names; can be repeated",
    )  # fmt: skip
    parser.add_argument("--short", action="store_true", help="a few pages, to check that it works")
    parser.add_argument("--pages", action="store_true", help="list the pages and stop")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continue a stopped run, keeping pages without findings",
    )
    parser.add_argument(
        "--site",
        metavar="URL",
        help="use this running site with demo people (default: start a separate one)",
    )
    parser.add_argument(
        "--shots", type=Path, metavar="DIR", help="only take screenshots of ten pages"
    )
    parser.add_argument(
        "--landing", type=Path, metavar="DIR",
        help="only take the four screenshots that the landing page shows (static/img)",
    )  # fmt: skip
    parser.add_argument(
        "--directory", type=Path, default=ROOT / "docs" / "bench", metavar="DIR",
        help="directory for JSON, table and plot (default: docs/bench)",
    )  # fmt: skip
    parser.add_argument("--no-write", dest="write", action="store_false", help="only print")
    return parser


def _fitting(pattern: str) -> list[Page]:
    try:
        return named([pattern])
    except KeyError:
        raise argparse.ArgumentTypeError(
            f"no page matches {pattern!r}; --pages lists them"
        ) from None


if __name__ == "__main__":
    run_tool(main)
