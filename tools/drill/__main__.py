"""Entry point of `./run drill`."""

import argparse
from pathlib import Path

from rich.console import Console

from tools import run_tool
from tools.drill.conductor import conduct
from tools.drill.faults import CLUSTER, RABBITMQ, REDIS, SENTINEL, SINGLE
from tools.drill.options import Options

EXAMPLES = """\
examples:
  ./run drill                             one minute with the faults of seed 1
  ./run drill --short                     a quarter of a minute with four faults
  ./run drill --minutes 10 --seed 7       the long one: 10,000 posts, 200 faults
  ./run drill --json drill.json           the figures and every violation as JSON
  ./run drill --with-postgres             PostgreSQL is killed and cut off as well
  ./run drill --minutes 4 --with-clocks   clocks go an hour and a day ahead and back; needs libfaketime
  ./run drill --with-widths               Main and Backup get a slot and give it up again, in two minutes or more
  ./run drill --with-widths --without-faults   nothing else happens: the hit rate is judged, too
  ./run drill --minutes 3 --with-replica  a streaming replica of PostgreSQL is paused and frozen; people follow
  ./run drill --pairs 10000               explains so many random pairs of reader and post at the end
  ./run drill --redis sentinel            the primary of the timelines is killed; its replica is promoted
  ./run drill --redis cluster --broker rabbitmq
  ./run drill --break no-tombstone        with a mechanism switched off: must fail (docs/drill.md)
"""


# A node cut off, a web server killed, timelines flushed, a broker half open. No worker dies: its leases would
# have to run out first.
SHORT = Options(minutes=14 / 60, seed=9, per_second=12.0, pairs=100)


def main(command_line: list[str]) -> int:
    """Run a drill; 1 when an invariant was violated."""
    options = _parser().parse_args(command_line)
    if options.short:
        return conduct(SHORT, Console())
    return conduct(
        Options(
            minutes=options.minutes,
            seed=options.seed,
            json=options.json,
            with_postgres=options.with_postgres,
            with_clocks=options.with_clocks,
            with_widths=options.with_widths,
            without_faults=options.without_faults,
            broken=options.broken,
            per_second=options.rate,
            keep=options.keep,
            pairs=options.pairs,
            redis=options.redis,
            broker=options.broker,
            with_replica=options.with_replica,
        ),
        Console(),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./run drill",
        description="A site of its own under load, while its servers are killed, frozen, flushed and cut off; then what"
        " it showed and kept is compared with what it should have. Exit status 1 when anything differs.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--short", action="store_true", help="a quarter of a minute with few acts: does it run?"
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
        "--with-clocks",
        action="store_true",
        help="the clocks of a web server, the worker, beat and PostgreSQL go an hour and a day ahead and back, one"
        " after another; needs libfaketime",
    )
    parser.add_argument(
        "--with-widths",
        action="store_true",
        help="Main and Backup get one slot more and give it up again, while a post is deleted in every step; the load"
        " goes on until that is done",
    )
    parser.add_argument(
        "--without-faults",
        action="store_true",
        help="only what the other options ask for happens; with --with-widths the hit rate is judged",
    )
    parser.add_argument(
        "--redis",
        choices=(SINGLE, SENTINEL, CLUSTER),
        default=SINGLE,
        help="a primary with a replica and three Sentinels, or a cluster of three primaries with a replica each; a"
        " primary is killed in the middle of each minute. Left out: kill and freeze of this Redis by chance, and all"
        " faults of its link, since clients go to the primary itself. What cannot be on a cluster (counters, sessions)"
        " is on one Redis with all its faults (default: single)",
    )
    parser.add_argument(
        "--broker",
        choices=(REDIS, RABBITMQ),
        default=REDIS,
        help="RabbitMQ with quorum queues, which is restarted in the middle of each minute, and neither flushed nor"
        " killed; needs rabbitmq-server (default: redis)",
    )
    parser.add_argument(
        "--break", dest="broken", metavar="NAME", help="switch a mechanism off; must fail"
    )
    parser.add_argument(
        "--pairs",
        type=int,
        default=1000,
        metavar="N",
        help="of reader and post, explained at the end and compared with the tables (default: 1000)",
    )
    parser.add_argument(
        "--with-replica",
        action="store_true",
        help="a streaming replica of PostgreSQL, whose replay is paused, and which is frozen later; people follow,"
        " unfollow and read tags meanwhile",
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
    run_tool(main)
