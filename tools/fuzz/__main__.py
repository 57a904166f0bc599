"""Entry point of `./run fuzz`."""

import argparse

from rich.console import Console

from runner.terminal import LaunchError
from tools import run_tool

EXAMPLES = """\
examples:
  ./run fuzz                           2,000 requests, in about a minute
  ./run fuzz --short                   120 requests, in seconds
  ./run fuzz --requests 100000         a long run: every operation and form hundreds of times
  ./run fuzz --seed 7                  other requests; the same seed gives the same ones
  ./run fuzz --processes 4             more web processes, for more cores
"""
SHORT_REQUESTS = 120


def main(command_line: list[str]) -> int:
    """Fuzz a site. Returns 1 after a failed response or the death of a process, 2 if it could not run."""
    options = command_parser().parse_args(command_line)
    if options.short:
        options.requests, options.processes = SHORT_REQUESTS, 1
    from tools.fuzz.site import fuzzed_site  # noqa: PLC0415 -- --help needs no Django

    console = Console()
    try:
        with fuzzed_site(options.processes) as site:
            from tools.fuzz.run import Fuzz, Options  # noqa: PLC0415 -- they import models, which need Django

            chosen = Options(options.requests, options.seed, options.processes)
            return 1 if Fuzz(chosen, site, console).run() else 0
    except LaunchError as error:
        console.print(f"The fuzzer cannot run: {error}")
        return 2


def command_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./run fuzz",
        description="Sends all kinds of requests to a separate site: valid and invalid ones from the OpenAPI document,"
        " and every form on every page, each with a valid token or session, an invalid one, or none. A status of 500 or"
        " more is a failure, except 503 with Retry-After. Exit status 1 after a failure, or if a process died.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--requests",
        type=_positive,
        default=2000,
        metavar="N",
        help="number of requests (default: 2000)",
    )
    parser.add_argument(
        "--short", action="store_true", help="a few requests to one process, to check that it works"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="random seed (default: 1)")
    parser.add_argument(
        "--processes", type=_positive, default=2, metavar="N", help="web processes (default: 2)"
    )
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above zero")
    return value


if __name__ == "__main__":
    run_tool(main)
