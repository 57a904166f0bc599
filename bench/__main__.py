"""Entry point of `./run bench`."""

import argparse
import sys
from pathlib import Path

from rich.console import Console

from bench import caches, report, site, timeline
from bench.servers import site_servers
from runner.services.memcached import TESTS

ROOT = Path(__file__).resolve().parent.parent
SUITES = {"caches": caches, "timeline": timeline, "site": site}
EXAMPLES = """\
examples:
  ./run bench caches                     every comparison of the cache classes; writes docs/bench/
  ./run bench caches --only longset      one of them
  ./run bench caches --no-write          look, and leave docs/bench/ as it is
  ./run bench timeline                   delivery and home timelines
  ./run bench timeline --only fanout     one post to 100,000 followers through real workers
  ./run bench                            pages over HTTP beside a naive site and what the machine can do; needs wrk
"""


def main(command_line: list[str]) -> int:
    """Run a suite; 1 when a line falls short of its bar."""
    options = _parser().parse_args(command_line)
    console = Console()
    suite = SUITES[options.suite]
    chosen = [part for part in suite.PARTS if options.only in (None, part)]
    if not chosen:
        console.print(f"There is no part {options.only!r}: {', '.join(suite.PARTS)}.")
        return 2
    with site_servers(getattr(suite, "LAYERS", TESTS)) as (services, directory):
        lines = []
        for part in chosen:
            with console.status(f"Measuring {part}"):
                lines += suite.run(part, directory)
        report.show(console, lines)
        if options.write and options.only is None:
            for place in report.write(options.directory, options.suite, lines, services.describe()):
                console.print(f"wrote {place}")
    return 1 if any(line.passed is False for line in lines) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./run bench",
        description="Compares feedsite with what one would do otherwise, on servers of its own, in one run.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "suite", choices=SUITES, nargs="?", default="site", help="what to measure (default: site)"
    )
    parser.add_argument("--only", metavar="PART", help="one part of the suite")
    parser.add_argument(
        "--directory", type=Path, default=ROOT / "docs" / "bench", metavar="DIR",
        help="where JSON and SVG go (default: docs/bench)",
    )  # fmt: skip
    parser.add_argument("--no-write", dest="write", action="store_false", help="only print")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
