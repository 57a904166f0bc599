"""Entry point of `./run drill`."""

import argparse
import sys
from pathlib import Path

from rich.console import Console

from tools.drill.conductor import conduct
from tools.drill.options import Options

EXAMPLES = """\
examples:
  ./run drill                             one minute with the faults of seed 1
  ./run drill --minutes 10 --seed 7       the long one: 10,000 posts, 200 faults
  ./run drill --json drill.json           the figures and every violation as JSON
  ./run drill --with-postgres             PostgreSQL is killed and cut off as well
  ./run drill --break no-tombstone        with a mechanism switched off: must fail (docs/drill.md)
"""


def main(command_line: list[str]) -> int:
    """Run a drill; 1 when an invariant was violated."""
    options = _parser().parse_args(command_line)
    return conduct(
        Options(
            minutes=options.minutes,
            seed=options.seed,
            json=options.json,
            with_postgres=options.with_postgres,
            broken=options.broken,
            per_second=options.rate,
            keep=options.keep,
        ),
        Console(),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./run drill",
        description="A site of its own under load, while its servers are killed, frozen, flushed and cut off; then what it"
        " showed and kept is compared with what it should have. Exit status 1 when anything differs.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--minutes", type=_minutes, default=1.0, metavar="N", help="of load (default: 1)"
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="S", help="of the plan of faults (default: 1)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    parser.add_argument(
        "--rate",
        type=float,
        default=45.0,
        metavar="R",
        help="acts a second, two thirds of them posts (default: 45)",
    )
    parser.add_argument(
        "--with-postgres",
        action="store_true",
        help="faults of PostgreSQL too; pages fail while it is away",
    )
    parser.add_argument(
        "--break", dest="broken", metavar="NAME", help="switch a mechanism off; must fail"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="keep the history and the logs here (default: only after violations)",
    )
    return parser


def _minutes(text: str) -> float:
    value = float(text)
    if not 0 < value <= 24 * 60:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of minutes")
    return value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
