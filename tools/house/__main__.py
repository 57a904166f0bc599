"""`./run house`."""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from importlib import import_module

from rich.console import Console

from runner.checkout import ROOT
from tools.house.report import show, survey
from tools.house.trace import Trace

DESCRIPTION = """\
Measures the size of the site's own code, checks its module names, and counts how much code one has to read to follow
a request for a home page and the publishing of a post. The last column shows the limit for each figure."""
EXAMPLES = """\
examples:
  ./run house                      everything, in about a minute
  ./run house --no-trace           without servers, in a few seconds
  ./run house --json | jq .bars    for programs
"""
WARM = 3  # the traced action runs this many times; the last run counts


def main(command_line: list[str]) -> int:
    """Measure and print. Exit status 1 if a figure exceeds its bar; `--short` does not judge the traces."""
    options = command_parser().parse_args(command_line)
    traces = {} if options.no_trace else _traces(short=options.short)
    house = survey(ROOT, {} if options.short else traces)
    if options.json:
        sys.stdout.write(json.dumps(house.as_json(), indent=2) + "\n")
    else:
        show(house, Console(highlight=False))
    return 0 if all(bar.is_met for bar in house.bars) else 1


def command_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./run house",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--short", action="store_true", help="trace once without warming up, to check that it works"
    )
    parser.add_argument(
        "--no-trace", action="store_true", help="start no servers and skip the two traces"
    )
    return parser


def _traces(*, short: bool) -> Mapping[str, Trace]:
    os.environ["OPTIONAL_APPS"] = ""  # only the core is traced (docs/decisions/0168)
    servers = import_module("tools.bench.servers")
    with servers.site_servers():
        # imports models, which need the settings set up just now
        traces: Mapping[str, Trace] = import_module("tools.house.walks").home_and_publish(
            warm=1 if short else WARM
        )
        return traces


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
