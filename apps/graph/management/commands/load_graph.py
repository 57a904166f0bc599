"""`manage load_graph`: load a follow graph from an edge list."""

import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils.formats import date_format

from apps.errors import DomainError
from apps.graph import bulk
from apps.graph.management.edge_list import EdgeList, EdgeListError, Line, read_edge_list
from apps.graph.management.load_progress import LoadProgress
from apps.graph.models import GraphImport

BATCH_LINES = 20_000  # the counts rows of a batch are locked for about a second
BATCH_MAX_LINES = 200_000
STOPPED = 130  # the exit code of a program that Ctrl-C ended

EXAMPLES = """
A line holds two names, follower and followee, divided by blanks; a name is a number or a part of a handle.
Accounts are made as prefix + name ("12 34" makes @u12 follow @u34) and have no password. A number that is
too short for a handle is filled up: 8 becomes @u_8. Blank lines and lines that begin with # are skipped.

A load that was stopped goes on where it was when the same command is given again.

examples:
  ./run manage load_graph follows.txt
  ./run manage load_graph higgs-retweets.txt.gz --prefix higgs_
  ./run manage load_graph follows.txt --restart      every line again; what is there already stays
"""


@dataclass(slots=True)
class _Totals:
    accounts: int = 0
    edges: int = 0
    good_lines: int = 0
    began: float = field(default_factory=time.monotonic)


class Command(BaseCommand):
    """Load an edge list."""

    help = "Load accounts and follows from an edge list, plain or gzipped. Running it twice changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the options."""
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--prefix", default="u", help='put before every name (default: "u")')
        parser.add_argument(
            "--batch",
            type=int,
            default=BATCH_LINES,
            metavar="LINES",
            help=f"lines in one transaction (default: {BATCH_LINES:,})",
        )
        parser.add_argument(
            "--restart", action="store_true", help="begin with the first line again"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Load, or say in one line why not."""
        if not 1 <= options["batch"] <= BATCH_MAX_LINES:
            raise CommandError(f"--batch takes 1 to {BATCH_MAX_LINES:,} lines.")
        try:
            edge_list = read_edge_list(options["file"], prefix=options["prefix"])
            start = bulk.begin(edge_list.digest, restart=options["restart"])
            if start.finished_at is None:
                self._load(edge_list, start, batch=options["batch"])
            else:
                self._say_finished(edge_list, start)
        except EdgeListError as error:
            raise CommandError(str(error)) from None
        except DomainError as refusal:
            raise CommandError(refusal.message) from None
        except DatabaseError as error:
            reason = str(error).partition("\n")[0]
            raise CommandError(f"The database refused: {reason}. {_how_to_go_on()}") from None
        except KeyboardInterrupt:
            raise CommandError(f"Stopped. {_how_to_go_on()}", returncode=STOPPED) from None

    def _load(self, edge_list: EdgeList, start: GraphImport, *, batch: int) -> None:
        done, sums = start.lines_done, _Totals()
        if done:
            self.stdout.write(f"Going on after line {done:,} of {edge_list.line_count:,}.")
        progress = LoadProgress(total=edge_list.line_count, done=done)
        with progress.shown():
            for lines in _batches(edge_list.lines(after=done), batch):
                self._load_batch(edge_list.digest, lines, sums, progress)
        bulk.finish(edge_list.digest)
        self._say_loaded(edge_list, sums, progress)

    def _load_batch(
        self, digest: str, lines: list[Line], sums: _Totals, progress: LoadProgress
    ) -> None:
        edges = [line.edge for line in lines if line.edge]
        first, last = lines[0].number, lines[-1].number
        loaded = bulk.load_edges(digest, edges, after=first - 1, upto=last)
        faults = {line.number: line.fault for line in lines if line.fault}
        faults |= dict.fromkeys(loaded.blocked_lines, "one of the two has blocked the other")
        for number in sorted(faults):
            progress.fault(number, faults[number])
        progress.reached(last)
        sums.accounts += loaded.accounts
        sums.edges += loaded.edges
        sums.good_lines += len(edges) - len(loaded.blocked_lines)

    def _say_loaded(self, edge_list: EdgeList, sums: _Totals, progress: LoadProgress) -> None:
        seconds = time.monotonic() - sums.began
        rate = sums.edges / max(seconds, 0.001)
        self.stdout.write(
            f"Loaded {edge_list.path.name}: {sums.accounts:,} accounts made, {sums.edges:,} edges made, "
            f"{sums.good_lines - sums.edges:,} edges already there, {progress.faults:,} bad lines; "
            f"{seconds:.1f} s, {rate:,.0f} edges/s."
        )

    def _say_finished(self, edge_list: EdgeList, start: GraphImport) -> None:
        when = date_format(start.finished_at, "Y-m-d H:i") if start.finished_at else ""
        self.stdout.write(
            f"Nothing to do: {edge_list.path.name} was loaded to its end on {when} UTC. "
            "With --restart every line is looked at again."
        )


def _batches(lines: Iterator[Line], size: int) -> Iterator[list[Line]]:
    while batch := list(islice(lines, size)):
        yield batch


def _how_to_go_on() -> str:
    return "What was loaded so far stays; give the same command again to go on."
