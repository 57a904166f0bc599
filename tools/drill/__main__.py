"""Entry point of `./run drill`."""

import argparse
from pathlib import Path

from rich.console import Console

from tools import run_tool
from tools.drill.conductor import conduct
from tools.drill.faults import CLUSTER, RABBITMQ, RANDOM, REDIS, SENTINEL, SINGLE
from tools.drill.options import Options

EXAMPLES = """\
examples:
  ./run drill                             one minute with the faults of seed 1
  ./run drill --short                     ten seconds with three faults
  ./run drill --minutes 10 --seed 7       a long run: 10,000 posts, 200 faults
  ./run drill --json drill.json           the figures and every violation as JSON
  ./run drill --with-postgres             also kills and disconnects PostgreSQL
  ./run drill --fault vanish --fault "narrow link"   no random faults except these
  ./run drill --minutes 4 --with-clocks   sets clocks ahead and behind by an hour and a day; needs libfaketime
  ./run drill --minutes 2 --with-disks    fills the disks of all servers, of the media and of the logs; needs root
  ./run drill --rate 10 --with-tasks      kills a process of the worker in the middle of each Celery task
  ./run drill --with-widths               adds a slot to Main and Backup and removes it; takes at least two minutes
  ./run drill --with-widths --without-faults   the same without any other faults; also checks the hit rate
  ./run drill --minutes 3 --with-replica  pauses and freezes a streaming replica while people follow and unfollow
  ./run drill --pairs 10000               explains this many random pairs of reader and post at the end
  ./run drill --minutes 3 --citus         on Citus with three workers: kills one, and drains another
  ./run drill --minutes 3 --upgrade v0.2.0   old and new processes at the same time, while the migrations run
  ./run drill --minutes 2 --upgrade v0.3.0 --back   and then back to the older version, and forward again
  ./run drill --upgrade v0.2.0 --rows 1000000   the same with a million rows in each large table
  ./run drill --redis sentinel            kills the primary of the timelines' Redis; its replica is promoted
  ./run drill --redis cluster --broker rabbitmq
  ./run drill --break no-tombstone        with a mechanism switched off, so it must fail (docs/drill.md)
"""


# A frozen broker, flushed timelines, a killed node. No worker dies, because its leases would have to expire first, and
# no web server, which takes seconds to start.
SHORT = Options(minutes=10 / 60, seed=36425, per_second=8.0, pairs=50, fewest_people=24, crowd=200)


def main(command_line: list[str]) -> int:
    """Run a drill. Returns 1 if an invariant was violated."""
    parser = command_parser()
    options = parser.parse_args(command_line)
    if options.citus and (options.with_clocks or options.with_replica):
        parser.error("--citus goes neither with --with-clocks nor with --with-replica")
    if options.with_disks and (
        options.citus or options.upgrade or options.redis != SINGLE or options.broker != REDIS
    ):
        parser.error(
            "--with-disks goes neither with --citus nor with --upgrade, --redis or --broker"
        )
    if options.with_tasks and (options.broken or options.upgrade):
        parser.error("--with-tasks goes neither with --break nor with --upgrade")
    if options.upgrade and (options.citus or options.with_clocks or options.with_widths):
        parser.error("--upgrade goes neither with --citus nor with --with-clocks nor --with-widths")
    if (options.back or options.rows) and not options.upgrade:
        parser.error("--back and --rows go only with --upgrade")
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
            without_faults=options.without_faults or bool(options.upgrade),
            only=tuple(options.fault),
            broken=options.broken,
            per_second=options.rate,
            keep=options.keep,
            pairs=options.pairs,
            redis=options.redis,
            broker=options.broker,
            with_replica=options.with_replica,
            citus=options.citus,
            with_disks=options.with_disks,
            with_tasks=options.with_tasks,
            upgrade=options.upgrade,
            back=options.back,
            rows=options.rows,
        ),
        Console(),
    )


def command_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./run drill",
        description="Puts load on a separate site while its servers are killed, frozen, flushed and disconnected; then"
        " compares its pages and data with the expected ones. Exit status 1 if anything differs.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--short",
        action="store_true",
        help="ten seconds with few operations, to check that the drill works",
    )
    parser.add_argument(
        "--minutes",
        type=_minutes,
        default=1.0,
        metavar="N",
        help="duration of the load (default: 1)",
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="S", help="random seed of the faults (default: 1)"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write the figures to this file"
    )
    parser.add_argument(
        "--rate",
        type=float,
        default=45.0,
        metavar="R",
        help="operations per second, two thirds of them posts (default: 45)",
    )
    parser.add_argument(
        "--with-postgres",
        action="store_true",
        help="also inject faults into PostgreSQL; pages may return 503 while it is down",
    )
    parser.add_argument(
        "--with-clocks",
        action="store_true",
        help="set the clocks of a web server, the worker, beat and PostgreSQL, one process at a time, an hour ahead,"
        " an hour behind, a day ahead and a day behind; needs libfaketime",
    )
    parser.add_argument(
        "--with-disks",
        action="store_true",
        help="put the files of PostgreSQL, its write-ahead log, Redis, the media and the logs on small disks, and fill"
        " them one after the other; only root may mount them",
    )
    parser.add_argument(
        "--with-tasks",
        action="store_true",
        help="kill a process of the worker in the middle of each Celery task, one task after the other; the load"
        " continues until this is done",
    )
    parser.add_argument(
        "--with-widths",
        action="store_true",
        help="add a slot to Main and Backup and remove it again, with a post deleted in every step; the load"
        " continues until this is done",
    )
    parser.add_argument(
        "--without-faults",
        action="store_true",
        help="no faults except those that other options cause; with --with-widths, also check the hit rate",
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        choices=RANDOM,
        help="only random faults of this kind; repeat it for several kinds",
    )
    parser.add_argument(
        "--redis",
        choices=(SINGLE, SENTINEL, CLUSTER),
        default=SINGLE,
        help="a primary with a replica and three Sentinels, or a cluster of three primaries with a replica each; a"
        " primary is killed in the middle of each minute. This Redis is not killed or frozen at random, and its link"
        " has no faults, because clients connect to the primary directly. With `cluster`, the remaining data, such as"
        " counters, is on one ordinary Redis, which gets every kind of fault (default: single)",
    )
    parser.add_argument(
        "--broker",
        choices=(REDIS, RABBITMQ),
        default=REDIS,
        help="RabbitMQ with quorum queues, restarted in the middle of each minute, and neither flushed nor"
        " killed; needs rabbitmq-server (default: redis)",
    )
    parser.add_argument(
        "--break",
        dest="broken",
        metavar="NAME",
        help="switch off a mechanism, so that the drill must fail",
    )
    parser.add_argument(
        "--pairs",
        type=int,
        default=1000,
        metavar="N",
        help="number of pairs of reader and post to explain at the end and compare with the tables"
        " (default: 1000)",
    )
    parser.add_argument(
        "--with-replica",
        action="store_true",
        help="use a streaming replica of PostgreSQL, pause its replay, and later freeze it, while people"
        " follow, unfollow and read tags",
    )
    parser.add_argument(
        "--citus",
        action="store_true",
        help="use Citus, with a coordinator and three workers, as PostgreSQL; one worker is killed and restarted, and"
        " another one is drained of its shards and then gets its share back. Cannot be used with --with-clocks"
        " or --with-replica",
    )
    parser.add_argument(
        "--upgrade",
        default="",
        metavar="COMMIT",
        help="upgrade a site from this commit to this checkout: the migrations run under load, and old and new web"
        " servers, workers and beats run at the same time. There are no other faults",
    )
    parser.add_argument(
        "--back",
        action="store_true",
        help="after --upgrade, the older processes return, beside the new ones and then alone, while the tables stay"
        " as they are; then the site is upgraded once more. This more than doubles the duration of the load",
    )
    parser.add_argument(
        "--rows",
        type=int,
        default=0,
        metavar="N",
        help="with --upgrade, give the older site N posts, with the rows of other large tables, before the load",
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
