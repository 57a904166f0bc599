"""`manage seed_demo`: adds demo data."""

import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from io import StringIO
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from apps.demo.actions import SeedResult, expected_rows, seed
from apps.demo.content.loader import load_content
from apps.demo.seeding.people import PASSWORD
from apps.demo.seeding.world import SIZES
from apps.errors import DomainError

TABLE_WIDTH = 60
STEPS = 10  # parts of the total; in a log, a line when one is done
STOPPED = 130  # the exit code after Ctrl-C
EXAMPLES = """
All data is added in one transaction, so an interrupted run leaves nothing and can be repeated. If the demo has this
size already, nothing changes. Another size adds generated accounts to the cast, the people with hand-written posts.

examples:
  ./run manage seed_demo                      add the cast and 60 accounts, in a few seconds
  ./run manage seed_demo --size medium        1,000 accounts
  ./run manage seed_demo --size large         20,000 accounts, in a few minutes
  ./run manage seed_demo --seed 7             generate other people and posts; the same seed gives the same ones
"""


class SeedProgress:
    """Shows progress on standard error: a bar on a terminal, a line every 10 % in a log. The total is an estimate."""

    def __init__(self, *, total: int) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._total, self._done, self._tenth = total, 0, 0
        self.bar = Progress(
            TextColumn("Making {task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
            console=self._console, transient=True, disable=not self._console.is_terminal,
        )  # fmt: skip
        self._task = self.bar.add_task("people", total=total)

    def advance(self, what: str, number: int) -> None:
        self._done = min(self._done + number, self._total - self._total // 100)
        self.bar.update(self._task, completed=self._done, description=what)
        tenth = self._done * STEPS // self._total
        if not self._console.is_terminal and tenth > self._tenth:
            self._tenth = tenth
            self._console.print(f"{tenth * STEPS:3} %  making {what}", markup=False)


class Command(BaseCommand):
    help = "Add demo people, posts and pictures. Running it twice changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument(
            "--size", choices=list(SIZES), default="small", help="amount of data (default: small)"
        )
        parser.add_argument(
            "--seed",
            type=int,
            default=1,
            metavar="N",
            help="seed of the random generator (default: 1)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError(
                "The demo has staff with a public password, so it is refused in production (PRODUCTION=1)."
            )
        began, size = time.monotonic(), options["size"]
        progress = SeedProgress(total=expected_rows(size))
        try:
            with progress.bar:
                result = seed(size=size, seed_number=options["seed"], advance=progress.advance)
        except DomainError as refusal:
            raise CommandError(str(refusal)) from None
        except DatabaseError as error:
            reason = str(error).partition("\n")[0]
            raise CommandError(f"Database error: {reason}. Nothing was made.") from None
        except KeyboardInterrupt:
            raise CommandError(
                "Stopped. Nothing was made; run the same command again.", returncode=STOPPED
            ) from None
        self._say(size, result, time.monotonic() - began)

    def _say(self, size: str, result: SeedResult, seconds: float) -> None:
        if result.earlier:
            when = f"{result.earlier.finished_at:%Y-%m-%d %H:%M} UTC"
            self.stdout.write(
                f"Nothing to do: the {size} demo was made on {when} (seed {result.earlier.seed})."
            )
            return
        self.stdout.write(f"The {size} demo, made in {seconds:.1f} s:")
        table = Table()
        table.add_column("Made")
        table.add_column("Number", justify="right")
        for name in ("accounts", "follows", "posts", "pictures", "likes"):
            table.add_row(name, f"{getattr(result, name):,}")
        console = Console(file=StringIO(), width=TABLE_WIDTH, highlight=False)
        with console.capture() as captured:
            console.print(table)
        self.stdout.write(captured.get())
        fixed = [person for person in load_content().people.values() if person.fixed]
        names = ", ".join(
            f"{person.handle}{' (staff)' if person.staff else ''}" for person in fixed
        )
        self.stdout.write(f"Log in as {names}; the password is {PASSWORD}")
