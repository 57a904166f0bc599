"""Finds redundant tests: `python -m tools.redundant [FILE]`, after `./run test --all --cov --cov-context=test`.

Keeps the tests that catch a mutant of tools/mutate/mutants.toml. To these it adds, one at a time, the test that covers
the most lines not covered yet, until all are covered. It prints the others. These may still be the only test of some
behaviour, so read a test before you delete it.
"""

import sqlite3
import sys
from collections import defaultdict
from pathlib import Path

from coverage.numbits import numbits_to_nums

from runner.checkout import ROOT
from tools.mutate.mutants import load

DATA = ROOT / ".coverage"
LINES = """
    SELECT context.context, line_bits.file_id, line_bits.numbits
    FROM line_bits JOIN context ON context.id = line_bits.context_id"""

Line = tuple[int, int]  # file, number


def lines_by_function(data: Path) -> dict[str, set[Line]]:
    """The lines that each test function runs. Its parameter sets count as one; code outside of tests is left out."""
    found: dict[str, set[Line]] = defaultdict(set)
    with sqlite3.connect(data) as connection:
        for context, file, bits in connection.execute(LINES):
            if function := function_of(context):
                found[function].update((file, line) for line in numbits_to_nums(bits))
    return found


def function_of(context: str) -> str:
    """`tests/a.py::test_b[c]|run` is `tests/a.py::test_b`."""
    return context.partition("|")[0].partition("[")[0]


def superfluous(covered: dict[str, set[Line]], needed: set[str]) -> list[str]:
    """The functions that could be dropped without losing a line; the needed ones are kept."""
    missing: set[Line] = set().union(*covered.values())
    for function in needed & covered.keys():
        missing -= covered[function]
    left = {function: lines for function, lines in covered.items() if function not in needed}
    while missing:
        best = max(left, key=lambda function: len(left[function] & missing))
        missing -= left.pop(best)
    return sorted(left)


def main(data: Path) -> int:
    if not data.exists():
        sys.stderr.write(
            f"{data} does not exist; create it with ./run test --all --cov --cov-context=test\n"
        )
        return 2
    covered = lines_by_function(data)
    needed = {function_of(mutant.test) for mutant in load()}
    candidates = superfluous(covered, needed)
    sys.stdout.write("".join(f"{name}\n" for name in candidates))
    sys.stdout.write(
        f"{len(candidates)} of {len(covered)} test functions add no line and catch no mutant\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else DATA))
