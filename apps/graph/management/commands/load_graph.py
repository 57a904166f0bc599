"""`manage load_graph`: load a follow graph from an edge list."""

import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils.formats import date_format
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from apps.errors import DomainError
from apps.graph.management import bulk
from apps.graph.management.edge_list import EdgeList, EdgeListError, Line, read_edge_list
from apps.graph.models import GraphImport

BATCH_LINES = 20_000  # the counts rows of a batch are locked for about a second
BATCH_MAX_LINES = 200_000
FAULTS_IN_FULL = 20
STEPS = 10  # the number of progress lines in a log
STOPPED = 130  # the exit code of a program stopped by Ctrl-C

EXAMPLES = """
Each line has two names, follower and followee, separated by spaces; a name is a number or part of a handle.
Accounts are created as prefix + name ("12 34" makes @u12 follow @u34), without a password. A number that is
too short for a handle is padded: 8 becomes @u_8. Blank lines and lines that begin with # are skipped.

To resume a stopped load, give the same command again.

examples:
  ./run manage load_graph follows.txt
  ./run manage load_graph higgs-retweets.txt.gz --prefix higgs_
  ./run manage load_graph follows.txt --restart      load every line again; existing rows are kept
"""


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f} lines/s" if task.speed else "")


class LoadProgress:
    """Prints progress and the first bad lines to standard error: on a terminal a bar, in a log a line every 10 %."""

    def __init__(self, *, total: int, done: int) -> None:
        self.accounts = self.edges = self.good_lines = self.faults = 0
        self.began = time.monotonic()
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._total, self._first, self._done = total, done, done
        self.bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), _Rate(), TimeRemainingColumn(),
            console=self._console, transient=True, disable=not self._console.is_terminal,
        )  # fmt: skip
        self._task = self.bar.add_task("Loading", total=total, completed=done)

    def reached(self, line: int) -> None:
        before, self._done = self._tenth(), line
        self.bar.update(self._task, completed=line)
        if not self._console.is_terminal and self._tenth() > before:
            self._console.print(self._state(), markup=False)

    def fault(self, line: int, reason: str) -> None:
        self.faults += 1
        if self.faults <= FAULTS_IN_FULL:
            self._console.print(f"line {line:,}: {reason}", markup=False)
        elif self.faults == FAULTS_IN_FULL + 1:
            self._console.print("More bad lines are counted, not shown.")

    def _tenth(self) -> int:
        return self._done * STEPS // self._total if self._total else STEPS

    def _state(self) -> str:
        elapsed = max(time.monotonic() - self.began, 0.001)
        rate = (self._done - self._first) / elapsed
        left = (self._total - self._done) / rate if rate else 0
        percent = self._done * 100 // self._total
        return f"{percent:3} %  line {self._done:,} of {self._total:,}  {rate:,.0f} lines/s  {left:.0f} s left"


class Command(BaseCommand):
    help = "Load accounts and follows from an edge list, plain or gzipped. Running it twice changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("file", type=Path, metavar="FILE", help="an edge list")
        parser.add_argument("--prefix", default="u", help='prefix of every handle (default: "u")')
        parser.add_argument(
            "--batch",
            type=int,
            default=BATCH_LINES,
            metavar="LINES",
            help=f"lines in one transaction (default: {BATCH_LINES:,})",
        )
        parser.add_argument("--restart", action="store_true", help="start again at the first line")

    def handle(self, *args: Any, **options: Any) -> None:
        if not 1 <= options["batch"] <= BATCH_MAX_LINES:
            raise CommandError(f"--batch takes 1 to {BATCH_MAX_LINES:,} lines.")
        try:
            edge_list = read_edge_list(options["file"], prefix=options["prefix"])
            start = bulk.begin_import(edge_list.digest, restart=options["restart"])
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
            raise CommandError(f"Database error: {reason}. {_how_to_go_on()}") from None
        except KeyboardInterrupt:
            raise CommandError(f"Stopped. {_how_to_go_on()}", returncode=STOPPED) from None

    def _load(self, edge_list: EdgeList, start: GraphImport, *, batch: int) -> None:
        done = start.lines_done
        if done:
            self.stdout.write(f"Resuming after line {done:,} of {edge_list.line_count:,}.")
        progress = LoadProgress(total=edge_list.line_count, done=done)
        remaining = edge_list.lines(after=done)
        with progress.bar:
            while lines := list(islice(remaining, batch)):
                self._load_batch(edge_list.digest, lines, progress)
        bulk.finish_import(edge_list.digest)
        self._say_loaded(edge_list, progress)

    def _load_batch(self, digest: str, lines: list[Line], progress: LoadProgress) -> None:
        edges = [line.edge for line in lines if line.edge]
        first, last = lines[0].number, lines[-1].number
        loaded = bulk.load_edges(digest, edges, after=first - 1, upto=last)
        faults = {line.number: line.fault for line in lines if line.fault}
        faults |= dict.fromkeys(loaded.blocked_lines, "one of the two has blocked the other")
        for number in sorted(faults):
            progress.fault(number, faults[number])
        progress.reached(last)
        progress.accounts += loaded.accounts
        progress.edges += loaded.edges
        progress.good_lines += len(edges) - len(loaded.blocked_lines)

    def _say_loaded(self, edge_list: EdgeList, progress: LoadProgress) -> None:
        seconds = time.monotonic() - progress.began
        rate = progress.edges / max(seconds, 0.001)
        self.stdout.write(
            f"Loaded {edge_list.path.name}: {progress.accounts:,} accounts made, {progress.edges:,} edges made, "
            f"{progress.good_lines - progress.edges:,} edges already there, {progress.faults:,} bad lines; "
            f"{seconds:.1f} s, {rate:,.0f} edges/s."
        )

    def _say_finished(self, edge_list: EdgeList, start: GraphImport) -> None:
        when = date_format(start.finished_at, "Y-m-d H:i") if start.finished_at else ""
        self.stdout.write(
            f"Nothing to do: {edge_list.path.name} was loaded completely on {when} UTC. "
            "Use --restart to load every line again."
        )


def _how_to_go_on() -> str:
    return "Lines loaded so far are kept; give the same command again to resume."
