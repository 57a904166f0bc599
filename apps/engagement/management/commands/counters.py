"""`manage counters`: compare and repair all counts, rebuild the counters in Redis."""

import json
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from apps.engagement import reconcile
from apps.engagement.reconcile import SUBJECTS, Subject
from feedcache.connections import RedisError
from feedcache.structures.counters import maintenance

WAIT_SECONDS = 1.0  # for another builder
MAX_RECORDS = 512  # hash-max-listpack-entries: more in a bucket take five times the memory
EXAMPLES = """
Counts are kept three times: the rows themselves (likes, replies, follows ...), a row of counts per post and account,
and packed records in Redis. Beside all writers, at any time:

examples:
  ./run manage counters status                        what the counters in Redis hold
  ./run manage counters reconcile                     compare all counts; exit code 1 when one is wrong
  ./run manage counters reconcile --fix               and put them right
  ./run manage counters reconcile --fix --since 7     only posts of the last seven days
  ./run manage counters rebuild                       drop the records in Redis and write them again
"""


@contextmanager
def progress_bar(name: str, first: int, last: int) -> Iterator[Callable[[int], None]]:
    """On standard error, on a terminal only; yields a function to call with the last finished id."""
    console = Console(stderr=True, highlight=False)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        # ids are too large for the bar's own arithmetic
        task = progress.add_task(name, total=1000)
        length = max(last - first, 1)
        yield lambda id_: progress.update(task, completed=(id_ - first) * 1000 // length)


class Command(BaseCommand):
    help = "Compare and repair the counts of posts and accounts, and build the counters in Redis."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("what", choices=["status", "reconcile", "rebuild"], help="what to do")
        parser.add_argument("--fix", action="store_true", help="reconcile: put right what is wrong")
        parser.add_argument(
            "--since", type=float, metavar="DAYS", help="reconcile: only posts of the last days"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        run = {"status": self._status, "reconcile": self._reconcile, "rebuild": self._rebuild}
        try:
            run[options["what"]](options)
        except RedisError as error:
            raise CommandError(f"Redis does not answer: {error}") from None

    def _status(self, options: dict[str, Any]) -> None:
        statuses = {subject.name: _status_of(subject) for subject in SUBJECTS}
        if options["json"]:
            self.stdout.write(json.dumps(statuses))
            return
        for name, status in statuses.items():
            self.stdout.write(f"{name}:")
            for key, value in status.items():
                self.stdout.write(
                    f"{value:>18,}  {key}" if isinstance(value, int) else f"{value:>18}  {key}"
                )

    def _reconcile(self, options: dict[str, Any]) -> None:
        report, fix = reconcile.Report(), options["fix"]
        for subject in SUBJECTS:
            after = reconcile.start_id(subject, options["since"])
            first, last = subject.table.ends()
            with progress_bar(f"Comparing {subject.name}", max(after, first), last) as advance:
                while (
                    last_id := reconcile.reconcile_batch(subject, after, report, fix=fix)
                ) is not None:
                    advance(last_id)
                    after = last_id
        building = [subject.name for subject in SUBJECTS if not _is_complete(subject)]
        self.stdout.write(
            _as_json(report, building) if options["json"] else _as_text(report, building)
        )
        if report.drifts and not fix:
            raise SystemExit(1)

    def _rebuild(self, options: dict[str, Any]) -> None:
        start = time.monotonic()
        for subject in SUBJECTS:
            maintenance.start_over(subject.service)
            with progress_bar(f"Building {subject.name}", *subject.table.ends()) as advance:
                while not maintenance.rebuild(
                    subject.service, advance=advance
                ) and not _is_complete(subject):
                    time.sleep(WAIT_SECONDS)
        self.stdout.write(f"The counters were built in {time.monotonic() - start:.1f} s.")


def _as_json(report: reconcile.Report, building: list[str]) -> str:
    drift = []
    for (name, where, field), tally in sorted(report.tallies.items()):
        worst = {"id": str(tally.worst.id), "has": tally.worst.has, "should": tally.worst.should}
        counts = f"{name}.{field}"
        drift.append({"counts": counts, "in": where, "wrong": tally.number, "worst": worst})
    summary = {"compared": report.compared, "repaired": report.repaired, "not_compared": building}
    return json.dumps({**summary, "drift": drift})


def _as_text(report: reconcile.Report, building: list[str]) -> str:
    lines = [
        f"{tally.number:>10,}  {name}.{field} in {where}; worst: {tally.worst.id}"
        f" has {tally.worst.has:,}, should have {tally.worst.should:,}"
        for (name, where, field), tally in sorted(report.tallies.items())
    ]
    lines += [
        f"The counters of {name} in Redis are being built, and were not compared."
        for name in building
    ]
    sums = f"{report.compared:,} rows compared, {report.drifts:,} counts wrong, {report.repaired:,} put right"
    return "\n".join([*lines, sums])


def _is_complete(subject: Subject) -> bool:
    return maintenance.state(subject.service.store).is_complete


def _status_of(subject: Subject) -> dict[str, Any]:
    state = maintenance.state(subject.service.store)
    sample = maintenance.sample(subject.service, subject.table.ends()[1])
    advice = "yes" if sample.most_records <= MAX_RECORDS else "no: make buckets smaller"
    return {
        "complete": "yes" if state.is_complete else "no: pages ask PostgreSQL",
        "records": sample.records,
        "bytes": sample.size,
        "bytes a record": f"{sample.size / sample.records:.1f}" if sample.records else "-",
        "buckets": sample.buckets,
        "records in the fullest bucket seen": sample.most_records,
        "buckets in compact form": advice,
        "buckets to be written back": maintenance.waiting(subject.service),
    }
