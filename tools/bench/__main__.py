"""Entry point of `./run bench`."""

import argparse
import os
import time
import traceback
from pathlib import Path
from typing import Any

from rich.console import Console

from runner.checkout import ROOT
from runner.services.memcached import TESTS
from tools import run_tool
from tools.bench import caches, policies, report, site, soak, streams, timeline
from tools.bench.progress import OvertimeError, bar, within
from tools.bench.report import Line
from tools.bench.servers import site_servers
from tools.bench.short import use_small_numbers

SUITES = {
    "caches": caches,
    "timeline": timeline,
    "policies": policies,
    "site": site,
    "soak": soak,
    "streams": streams,
}
EXAMPLES = """\
examples:
  ./run bench caches                     every comparison of the cache classes; writes docs/bench/
  ./run bench caches --only longset      one comparison
  ./run bench caches --no-write          measure without changing docs/bench/
  ./run bench caches --short             check in seconds that it runs; writes nothing
  ./run bench timeline                   delivery and home timelines
  ./run bench timeline --only fanout     one post to 100,000 followers through real workers
  ./run bench timeline --only units      the cost per follower, for policy auto (apps/timeline/fanout/auto_policy.py)
  ./run bench timeline --only flood      home pages while many people search
  ./run bench policies                   reads and writes of the stores under push, pull, online and hybrid
  ./run bench policies --only pull       one policy
  ./run bench policies --only readers    pages of readers with 2,000 and 7,500 followees, with push and with pull
  ./run bench                            pages over HTTP, compared with a naive site and with the limit of
                                         the machine, in less than 15 minutes; needs wrk
  ./run bench site --graph FILE          the same with the follow graph in a file
  ./run bench site --peer DIR            the same, also compared with a checkout of Takahē
  ./run bench soak                       an hour at 20 requests/s: the memory of every process, and the disks
  ./run bench soak --minutes 10          the same, shorter
  ./run bench streams                    20,000 open streams in four processes, in about ten minutes
  ./run bench site --only flame          flame graphs of a home request and of publishing a post; writes docs/bench/
"""
SHORT_MINUTES = 0.1  # of a soak
LONGEST_SECONDS = 3600  # for a part without a separate limit


def main(command_line: list[str]) -> int:
    """Run a suite. Returns 1 if a line falls short of its bar."""
    options = command_parser().parse_args(command_line)
    console = Console()
    suite = SUITES[options.suite]
    parts = [*suite.PARTS, *getattr(suite, "MORE_PARTS", ())]
    every = getattr(suite, "SHORT_PARTS", suite.PARTS) if options.short else suite.PARTS
    chosen = [options.only] if options.only else list(every)
    if options.only and options.only not in parts:
        console.print(f"There is no part {options.only!r}; the parts are {', '.join(parts)}.")
        return 2
    _export(options)
    with site_servers(
        getattr(suite, "LAYERS", TESTS), forced_to_disk=getattr(suite, "FORCED_TO_DISK", False)
    ) as (services, directory):
        if said := suite.lacks(directory) if suite is site else "":
            console.print(said)
            return 2
        if options.short:
            use_small_numbers(options.suite)
            options.directory = directory / "figures"  # which is deleted afterwards
        lines = _measured(console, suite, chosen, directory)
        report.show(console, lines)
        if options.write and options.only is None:
            said = services.describe() + (
                f"; follow graph: {site.people()}" if suite is site else ""
            )
            note = getattr(suite, "NOTE", "")
            for place in report.write(options.directory, options.suite, lines, said, note=note):
                console.print(f"wrote {place}")
    if options.short:
        console.print("With numbers this small only failures count, not lines that fall short.")
        return 1 if any(line.broken for line in lines) else 0
    return 1 if any(line.passed is False for line in lines) else 0


def _export(options: argparse.Namespace) -> None:
    """Set the environment variables from which parts of the suite `site` read options, and the time of the soak."""
    soak.MINUTES = options.minutes or (SHORT_MINUTES if options.short else soak.MINUTES)
    for name, place in (
        (site.GRAPH, options.graph),
        (site.PEER, options.peer),
        (site.FLAMES, options.directory if options.write and not options.short else None),
    ):
        if place:
            os.environ[name] = str(place.resolve())


def _measured(console: Console, suite: Any, chosen: list[str], directory: Path) -> list[Line]:
    """The lines of all parts. A part that fails or takes too long is a line that falls short; the others continue."""
    lines: list[Line] = []
    longest = getattr(suite, "SECONDS", {})
    end = time.monotonic() + (
        suite.longest() if hasattr(suite, "longest") else len(chosen) * LONGEST_SECONDS
    )
    with bar(console, chosen) as begin:
        for part in chosen:
            begin(part)
            more = getattr(suite, "DATA_SECONDS", 0) if part == chosen[0] else 0
            began = time.monotonic()
            try:
                seconds = longest.get(part, LONGEST_SECONDS) + more
                with within(max(min(seconds, end - began), 1)):
                    lines += suite.run(part, directory)
            except OvertimeError as error:
                lines.append(_not_measured(part, str(error)))
            except Exception as error:  # noqa: BLE001 -- the results of other parts are kept
                console.print(traceback.format_exc(), markup=False)
                lines.append(_not_measured(part, f"{type(error).__name__}: {error}"))
            console.print(f"{part}: {time.monotonic() - began:.0f} s")
    if hasattr(suite, "conclude"):
        concluded: list[Line] = suite.conclude(lines)
        return concluded
    return sorted(lines, key=lambda line: not line.bar)  # lines with a bar first


def _not_measured(part: str, reason: str) -> Line:
    return Line(f"part {part}", "", None, bar="must finish", passed=False, note=reason, broken=True)


def command_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./run bench",
        description="Compares feedsite with the usual alternatives, on its own servers, in one run.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "suite", choices=SUITES, nargs="?", default="site", help="what to measure (default: site)"
    )
    parser.add_argument("--only", metavar="PART", help="run only this part of the suite")
    parser.add_argument(
        "--directory", type=Path, default=ROOT / "docs" / "bench", metavar="DIR",
        help="directory for JSON and SVG (default: docs/bench)",
    )  # fmt: skip
    parser.add_argument(
        "--graph", type=Path, metavar="FILE",
        help="site: an edge list, one follower and followee per line (default: a generated, realistic graph)",
    )  # fmt: skip
    parser.add_argument(
        "--peer", type=Path, metavar="DIR",
        help="site: a checkout of Takahē to compare with (tools/bench/peers/takahe/README.md)",
    )  # fmt: skip
    parser.add_argument(
        "--minutes",
        type=float,
        metavar="N",
        help=f"soak: minutes of load (default: {soak.MINUTES:g})",
    )
    parser.add_argument(
        "--short",
        action="store_true",
        help="run every part with small numbers, in seconds, to check that it works",
    )
    parser.add_argument("--no-write", dest="write", action="store_false", help="only print")
    return parser


if __name__ == "__main__":
    run_tool(main)
