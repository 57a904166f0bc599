"""`manage counters`: compares and repairs all counts, and rebuilds or moves the counters in Redis."""

import json
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from apps.engagement import reconcile
from apps.engagement.reconcile import SUBJECTS, Subject
from apps.errors import DomainError
from apps.operations import actions
from apps.operations.actions import Author
from apps.operations.models import TopologyVersion
from apps.operations.queries import topology_in_force
from feedcache.connections import RedisError
from feedcache.ids import EPOCH, first_id_at
from feedcache.servers.topology_listener import listener
from feedcache.structures.counters import maintenance, moves
from feedcache.structures.counters.service import CounterService
from feedcache.topology import Tenant, Topology

SETTLE_SECONDS = 60.0
WAIT_SECONDS = 1.0  # between attempts, while another process builds the counters
# Redis's hash-max-listpack-entries: a hash (bucket) with more records takes five times the memory.
MAX_RECORDS = 512
EXAMPLES = """
Counts exist three times: as the rows themselves (likes, replies, follows ...), as a row of counts per post and account,
and as packed records in Redis. The command can run at any time, even while the site writes.

examples:
  ./run manage counters status                        show the contents of the counters in Redis
  ./run manage counters reconcile                     compare all counts; exit code 1 if one is wrong
  ./run manage counters reconcile --fix               the same, and repair wrong counts
  ./run manage counters reconcile --fix --since 7     only posts of the last seven days
  ./run manage counters rebuild                       drop the records in Redis and write them again
  ./run manage counters move posts redis://10.0.0.7:6379/0 --from 2026-12-01    move posts from this day on
  ./run manage counters move users redis://10.0.0.8:6379/0 --from 1000000    run again if interrupted
  ./run manage counters move posts settings --from 2026-12-01    move this range back to the address in the settings
A move with --from begins a range, which stays separate. A later move takes one range, up to the first id of the next.
"""
SETTINGS = "settings"
SETTLE_POLL_SECONDS = 1.0


@contextmanager
def progress_bar(name: str, first: int, last: int) -> Iterator[Callable[[int], None]]:
    """Show progress on standard error if it is a terminal. Yields a function that takes the last finished id."""
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
        # counts thousandths, because ids are too large for the arithmetic of the progress bar
        task = progress.add_task(name, total=1000)
        length = max(last - first, 1)
        yield lambda id_: progress.update(task, completed=(id_ - first) * 1000 // length)


class Command(BaseCommand):
    help = "Compare and repair the counts of posts and accounts, and build the counters in Redis."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument(
            "what", choices=["status", "reconcile", "rebuild", "move"], help="what to do"
        )
        parser.add_argument(
            "kind",
            nargs="?",
            choices=[one.name for one in SUBJECTS],
            help="move: the counts to move",
        )
        parser.add_argument("url", nargs="?", metavar="ADDRESS", help="move: the Redis to move to")
        parser.add_argument(
            "--from",
            dest="low",
            default="0",
            metavar="ID",
            help="move: the first id of the range or, for posts, its first day (default: the first range)",
        )
        parser.add_argument("--fix", action="store_true", help="reconcile: repair wrong counts")
        parser.add_argument(
            "--since",
            type=float,
            metavar="DAYS",
            help="reconcile: only posts of the last DAYS days",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        run = {
            "status": self._status,
            "reconcile": self._reconcile,
            "rebuild": self._rebuild,
            "move": self._move,
        }
        try:
            run[options["what"]](options)
        except RedisError as error:
            raise CommandError(f"Redis does not answer: {error}") from None
        except DomainError as refusal:
            raise CommandError(refusal.message) from None

    def _status(self, options: dict[str, Any]) -> None:
        statuses = {subject.name: _status_of(subject) for subject in SUBJECTS}
        if options["json"]:
            self.stdout.write(json.dumps(statuses))
            return
        topology = topology_in_force()
        for name, status in statuses.items():
            self.stdout.write(f"{name}:")
            for one in topology.counters.get(name, ()):
                tenant = one.tenant
                line = f"from {one.low} on at {tenant.url or 'the address of the settings'}"
                if tenant.also is not None:
                    line += f", and at {tenant.also or 'that of the settings'}: moving"
                self.stdout.write(f"  {line}")
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

    def _move(self, options: dict[str, Any]) -> None:
        """Take the remaining steps of a move; each waits until every process has finished the previous one."""
        if not options["url"]:
            raise CommandError("Specify the counts and the address of a Redis server.")
        [service] = [one.service for one in SUBJECTS if one.name == options["kind"]]
        url = "" if options["url"] == SETTINGS else options["url"]
        low, by = moves.boundary(service.store, _id_of(options["low"])), Author("command line")
        self._join(service, low, url, by)
        if self._part(service, low).store.part.url != url:
            self._settle()
            self._use_newest()
            while not moves.build(service, low):
                self.stdout.write("The other server is being built.")
                time.sleep(WAIT_SECONDS)
            moves.hand_over(self._part(service, low))
            self._say(actions.switch_counters(service.name, low, by=by))
        self._settle()
        part = self._part(service, low)
        moves.reopen(part.store)
        self._say(actions.leave_counters(service.name, low, by=by))
        moves.forget_left(self._part(service, low), part.store.part.also or "")

    def _join(self, service: CounterService, low: int, url: str, by: Author) -> None:
        """Take the first step of a move, unless an earlier run has taken it."""
        name, ranges = service.name, self._use_newest().counters.get(service.name, ())
        tenant = next((one.tenant for one in ranges if one.low == low), None)
        if tenant == Tenant(url) or (tenant is None and not low and not url):
            raise CommandError(f"The counters of {name} are there already.")
        if tenant is None or not tenant.is_moving:
            actions.require_counter_address(url)
            moves.prepare(service, low, url)
            self._say(actions.join_counters(name, low, url, by=by))
        elif url not in (tenant.url, tenant.also):
            raise CommandError(f"The counters of {name} are being moved: finish that move first.")

    def _part(self, service: CounterService, low: int) -> CounterService:
        self._use_newest()
        return moves.part_of(service, low)

    def _use_newest(self) -> Topology:
        """Make this process use the newest topology, because it may not receive announcements of changes."""
        newest = topology_in_force()
        listener().use(newest)
        return newest

    def _settle(self) -> None:
        deadline = time.monotonic() + SETTLE_SECONDS
        while (reason := actions.reason_to_wait()) and time.monotonic() < deadline:
            self.stdout.write(reason)
            time.sleep(SETTLE_POLL_SECONDS)
        if reason:
            raise CommandError(reason)

    def _say(self, row: TopologyVersion) -> None:
        self.stdout.write(f"Version {row.pk}: {row.detail}.")


def _id_of(text: str) -> int:
    """The id that the text contains, or the first id of the day that it names."""
    if text.isdecimal():
        return int(text)
    try:
        day = datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        raise CommandError(f"{text!r} is neither an id nor a day such as 2026-12-01.") from None
    return first_id_at(max(int(day.timestamp()), EPOCH))


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
    sums = f"{report.compared:,} rows compared, {report.drifts:,} counts wrong, {report.repaired:,} repaired"
    return "\n".join([*lines, sums])


def _is_complete(subject: Subject) -> bool:
    return maintenance.is_complete(subject.service)


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
