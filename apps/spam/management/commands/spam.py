"""`manage spam`: lists the heuristics, and tries them on the posts of yesterday."""

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from apps.errors import DomainError
from apps.spam.dry_run import Advance, Result, require_choice, shown_posts, try_on
from apps.spam.heuristics import available
from apps.spam.models import Policy
from apps.spam.queries import ACTED, policy_in_force, used_by, yesterday

EXAMPLES = """
A dry run does nothing to posts or accounts. It examines at most 50 posts of each half hour of yesterday.

examples:
  ./run manage spam list                               the heuristics with their points, and what happens at which score
  ./run manage spam try                                what staff have chosen, on the posts of yesterday
  ./run manage spam try --report-from 40               the same with another score; staff's choice stays as it is
  ./run manage spam try --heuristic mentions --heuristic first_links --report-from 80
  ./run manage spam try --json                         one JSON object, with the ids of the posts
"""


@contextmanager
def progress_bar() -> Iterator[Advance]:
    """Show progress on standard error if it is a terminal. Yields a function that takes what is done, and the total."""
    console = Console(stderr=True, highlight=False)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("Examining posts", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


class Command(BaseCommand):
    help = "List the heuristics against spam, and try them on the posts of yesterday without doing anything to them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("what", choices=["list", "try"], help="what to do")
        parser.add_argument(
            "--heuristic",
            action="append",
            metavar="ID",
            help="try: use this heuristic; can be repeated (default: those that staff have not switched off)",
        )
        for act, text in (
            ("report", "report the post"),
            ("hide", "hide the post"),
            ("limit", "limit the account"),
        ):
            parser.add_argument(
                f"--{act}-from",
                type=int,
                metavar="SCORE",
                help=f"try: {text} from this score on (default: what staff have chosen)",
            )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            (self._list if options["what"] == "list" else self._try)(options)
        except DomainError as refusal:
            raise CommandError(refusal.message) from None

    def _list(self, options: dict[str, Any]) -> None:
        policy = policy_in_force()
        if options["json"]:
            rows = [
                {
                    "id": one.id,
                    "question": str(one.question),
                    "points": one.points,
                    "is_on": one.id not in policy.switched_off,
                }
                for one in available().values()
            ]
            self.stdout.write(json.dumps(rows))
            return
        for one in available().values():
            off = " (switched off)" if one.id in policy.switched_off else ""
            self.stdout.write(f"{one.points:>5}  {one.id:<16} {one.question}{off}")
        for act in ("report", "hide", "limit"):
            value = getattr(policy, f"{act}_from")
            self.stdout.write(f"{act} from: {value if value is not None else 'never'}")

    def _try(self, options: dict[str, Any]) -> None:
        policy, known = policy_in_force(), available()
        ids = options["heuristic"] or [one.id for one in used_by(policy)]
        thresholds = Policy(
            **{
                name: options[name] if options[name] is not None else getattr(policy, name)
                for name in ("report_from", "hide_from", "limit_from")
            }
        )
        require_choice(ids, thresholds)
        with progress_bar() as advance:
            result = try_on(yesterday(), [known[id_] for id_ in ids], thresholds, advance)
        self.stdout.write(json.dumps(asdict(result)) if options["json"] else _as_text(result))


def _as_text(result: Result) -> str:
    sample = " (a sample)" if result.is_partial else ""
    right = result.outcomes.get(ACTED, 0)
    lines = [
        f"{result.examined:>7,}  posts of yesterday were examined{sample}",
        f"{result.caught:>7,}  would have been caught, of {result.accounts:,} accounts",
        *(f"{number:>7,}  {act}" for act, number in result.acts.items()),
        *(f"{number:>7,}  {id_}" for id_, number in result.heuristics.items()),
        f"{result.decided:>7,}  of the caught posts were decided about by staff, {right:,} of them with a measure",
        f"{result.acted:>7,}  examined posts have a measure of staff, {right:,} of them would have been caught",
    ]
    for one in shown_posts(result):
        text = " ".join(one.post.body.split())[:100]
        lines += [
            f"\n{one.score:>5}  {one.post.pk}  @{one.post.author.handle}  {one.outcome}",
            f"       {text}",
        ]
        lines += [f"       - {reason}" for reason in one.reasons]
    return "\n".join(lines)
