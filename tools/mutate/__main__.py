"""`./run mutate`."""

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table

from runner.checkout import ROOT
from tools import run_tool
from tools.figures import made
from tools.mutate.mutants import Mutant, load
from tools.mutate.run import Result, Verdict, copies, run, useless_tests

DESCRIPTION = """\
Removes one mechanism at a time, in a copy of the checkout, and runs the test that its row of
docs/requirements.md names: if no test catches a mutant, a regression there would go unnoticed."""
EXAMPLES = """\
examples:
  ./run mutate                  every mutant, in about twenty minutes on two idle cores; writes docs/bench/
  ./run mutate --list           the changes, without running anything
  ./run mutate --row S72 S98    only the mutants of these rows
  ./run mutate --row S72 -v     with the output of pytest
  ./run mutate --short          one mutant, in seconds, to check that it works
"""
COLOURS = {
    Verdict.CAUGHT: "green",
    Verdict.SURVIVED: "red",
    Verdict.SKIPPED: "yellow",
    Verdict.BROKEN: "yellow",
}
BAD = (Verdict.SURVIVED, Verdict.BROKEN)
SHORT_ROWS = ("S19",)  # its test needs the database


def main(command_line: Sequence[str]) -> int:
    """Returns 1 if a mutant survived or a test is broken, otherwise 0; 2 for an unknown row."""
    options = command_parser().parse_args(command_line)
    console = Console(highlight=False)
    mutants = load()
    if options.short:
        options.row = list(SHORT_ROWS)
    unknown = sorted(set(options.row) - {mutant.row for mutant in mutants})
    if unknown:
        console.print(f"No mutant for {', '.join(unknown)}; ./run mutate --list shows the rows.")
        return 2
    mutants = [mutant for mutant in mutants if not options.row or mutant.row in options.row]
    if options.list:
        console.print(_table(mutants))
        return 0
    results = _run(mutants, options.processes, console)
    _show(console, results, verbose=options.verbose)
    if options.write and not options.row:
        console.print(f"wrote {write(options.directory, results)}")
    return 1 if any(result.verdict in BAD for result in results) else 0


def _run(mutants: Sequence[Mutant], processes: int, console: Console) -> list[Result]:
    with copies(processes) as checkouts:
        console.print("The tests without a mutant ...")
        useless = useless_tests(checkouts, mutants, processes)
        trying = sum(mutant.test not in useless for mutant in mutants)
        console.print(f"{trying} mutants ...")
        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("mutants", total=trying)

            def tell(result: Result) -> None:
                progress.advance(task)
                if not console.is_terminal:
                    mutant = result.mutant
                    console.print(f"{result.verdict:<9}{mutant.row} {mutant.what}", soft_wrap=True)

            return run(checkouts, mutants, useless, processes, tell)


def _show(console: Console, results: Sequence[Result], *, verbose: bool) -> None:
    console.print(_table([result.mutant for result in results], results))
    for result in results:
        if verbose or result.verdict in {Verdict.BROKEN, Verdict.SKIPPED}:
            console.print(f"\n{result.mutant.row} {result.mutant.what}: {result.verdict}")
            console.print(result.output, markup=False)
    console.print(_counted(results))


def _counted(results: Sequence[Result]) -> str:
    counted = Counter(result.verdict for result in results)
    return ", ".join(f"{counted[one]} {one}" for one in Verdict if counted[one])


def write(directory: Path, results: Sequence[Result]) -> Path:
    """Write `mutants.md`. Returns its path."""
    rows = [
        f"| {result.mutant.row} | {result.mutant.what} | `{result.mutant.test}` | {result.verdict} |"
        for result in results
    ]
    head = f"Written by `./run mutate`, {made()}: {_counted(results)}."
    place = directory / "mutants.md"
    place.write_text(
        "\n".join(
            ["# Mutants", "", head, "", "| row | mutant | test | |", "|---|---|---|---|", *rows, ""]
        )
    )
    return place


def _table(mutants: Sequence[Mutant], results: Sequence[Result] = ()) -> Table:
    table = Table("row", "mutant", "test", "caught")
    verdicts = {result.mutant: result.verdict for result in results}
    for mutant in mutants:
        verdict = verdicts.get(mutant)
        shown = f"[{COLOURS[verdict]}]{verdict}" if verdict else ""
        table.add_row(mutant.row, mutant.what, mutant.test.removeprefix("tests/"), shown)
    return table


def command_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./run mutate",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    parser.add_argument("--row", nargs="+", default=[], metavar="S72", help="only these rows")
    parser.add_argument("--short", action="store_true", help="one row, in seconds")
    parser.add_argument(
        "--processes",
        type=int,
        default=os.cpu_count() or 1,
        help="concurrent tests (default: the number of cores)",
    )
    parser.add_argument(
        "--directory", type=Path, default=ROOT / "docs" / "bench", metavar="DIR",
        help="directory for the table of all mutants (default: docs/bench)",
    )  # fmt: skip
    parser.add_argument("--no-write", dest="write", action="store_false", help="only print")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the output of pytest")
    return parser


if __name__ == "__main__":
    run_tool(main)
