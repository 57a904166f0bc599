"""`manage shards`: split follows and posts, and move logical shards to other PostgreSQL servers."""

from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.template.defaultfilters import filesizeformat
from psycopg import Error
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from apps.graph.management import shards

EXAMPLES = """
Who follows whom is in two tables, each by its owner; posts, their counts and revisions are in three, by the author.
Split into 64 logical shards, they may lie on several servers; the site asks only the one it needs. A person's follows
and posts are in the shard of one number. Servers are named in GRAPH_SHARD_URLS, by every process of the site:

    GRAPH_SHARD_URLS=east=postgres://feedsite:secret@10.0.0.7:5432/shards

examples:
  ./run manage shards split                       follows, by the hash of the owner; the site waits for the copy
  ./run manage shards split --posts               posts too
  ./run manage shards split --range 500000,900000 follows in three, by ranges of the owner's id
  ./run manage shards add east                    reach the server of that name; again after a new password
  ./run manage shards move 32-63 --to east        while the site runs; again if it was interrupted
  ./run manage shards move 40 --to local          and back
  ./run manage shards show                        which shard lies where, and how large it is
  ./run manage shards check                       servers, columns, references; exit code 1 if something is wrong
"""


def _numbers(text: str) -> list[int]:
    first, _dash, last = text.partition("-")
    try:
        return list(range(int(first), int(last or first) + 1))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is neither a number nor a range such as 32-63") from None


def _bounds(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ArgumentTypeError(
            f"{text!r}: ids with commas between them, such as 500000,900000"
        ) from None


class Command(BaseCommand):
    help = "Split follows and posts by their owner, and move logical shards to other PostgreSQL servers."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        verbs = parser.add_subparsers(dest="verb", required=True)
        split = verbs.add_parser("split", help="make logical shards of the plain tables")
        split.add_argument(
            "--range",
            type=_bounds,
            default=[],
            metavar="ID,ID",
            dest="bounds",
            help="by ranges of owners' ids that begin at these, not by hash",
        )
        split.add_argument(
            "--posts", action="store_true", help="posts, their counts and revisions too"
        )
        add = verbs.add_parser("add", help="let PostgreSQL reach a server of GRAPH_SHARD_URLS")
        add.add_argument("name")
        move = verbs.add_parser("move", help="move logical shards while the site runs")
        move.add_argument("numbers", nargs="+", type=_numbers, metavar="SHARD", help="12, or 32-63")
        move.add_argument("--to", required=True, metavar="NAME", help="a server, or 'local'")
        verbs.add_parser("show", help="which shard lies where")
        verbs.add_parser("check", help="look for what is wrong")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            match options["verb"]:
                case "split":
                    shards.split(
                        bounds=options["bounds"],
                        posts=options["posts"],
                        report=self.stdout.write,
                    )
                case "add":
                    shards.add(options["name"], report=self.stdout.write)
                case "move":
                    self._move(
                        sorted({one for some in options["numbers"] for one in some}), options["to"]
                    )
                case "show":
                    self._show()
                case _:
                    self._check()
        except shards.ShardError as error:
            raise CommandError(str(error)) from None
        except Error as error:
            raise CommandError(f"PostgreSQL: {str(error).strip()}") from None

    def _move(self, numbers: Sequence[int], place: str) -> None:
        console = Console(stderr=True, highlight=False)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Progress(
            *columns, console=console, transient=True, disable=not console.is_terminal
        ) as bar:
            task = bar.add_task(f"shards to {place}", total=len(numbers))
            for _number in shards.move(numbers, place, report=self.stdout.write):
                bar.advance(task)

    def _show(self) -> None:
        found = shards.sizes()
        if not found:
            self.stdout.write("The tables are plain: nothing is split.")
        for place, group in groupby(found, key=attrgetter("place")):
            here = list(group)
            rows, size = sum(one.rows for one in here), sum(one.size for one in here)
            self.stdout.write(
                f"{place}: {len(here)} shards, about {rows:,} rows, {filesizeformat(size)}"
            )
            for one in here:
                self.stdout.write(
                    f"  {one.number:>3}  {one.rows:>14,} rows  {filesizeformat(one.size):>10}"
                )

    def _check(self) -> None:
        found = list(shards.problems())
        for problem in found:
            self.stdout.write(problem)
        if found:
            raise SystemExit(1)
        self.stdout.write("Nothing is wrong.")
