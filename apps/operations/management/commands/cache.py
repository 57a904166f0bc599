"""`manage cache`: the cache topology from the command line, while the site runs."""

import getpass
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import override
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from apps.errors import DomainError
from apps.operations import actions, resizing
from apps.operations.actions import Author
from apps.operations.epoch import begin_by_hand
from apps.operations.models import TopologyVersion
from apps.operations.queries import (
    SETTINGS,
    Fleet,
    NodeStatus,
    finding_texts,
    fleet,
    node_statuses,
    topology_in_force,
)
from apps.operations.resizing import Progress
from feedcache.topology import (
    CLASSES,
    TENANTS,
    Place,
    Pool,
    Tenant,
    Topology,
    megabytes,
    problems,
    warnings,
)

EXAMPLES = """
A place is main:SLOT, backup:SLOT or l1:GROUP:SLOT; an L1 group is l1:GROUP. SLOT and GROUP are counted from 0.
Every running process applies a change within two seconds, without a restart.

examples:
  ./run manage cache topology                        show the pools, the nodes, and the version that each process runs
  ./run manage cache check                           probe every node; exit code 1 when something is wrong
  ./run manage cache add-l1 10.0.0.7:11211 10.0.0.8:11211 --megabytes 64
  ./run manage cache replace main:1 10.0.0.9:11211
  ./run manage cache replace main:1 10.0.0.9:11211 --megabytes 512
  ./run manage cache drain main:1                    stop reading it; Backup is read instead
  ./run manage cache drain l1:3                      remove the group
  ./run manage cache grow main 10.0.0.9:11211        add a slot, in half a minute or more; shows the progress
  ./run manage cache shrink backup:1                 remove a slot from Backup
  ./run manage cache abort main                      keep the slots as they were
  ./run manage cache resizes                         continue a change of slots, and show the progress
  ./run manage cache flush outbox                    empty only this class
  ./run manage cache restored                        after a restore of the database: ignore all older cache entries
  ./run manage cache move timelines redis://10.0.0.7:6379/0    to another Redis, in half a minute; repeat to resume
  ./run manage cache move timelines settings         back to the address in the settings
  ./run manage cache rollback 4                      the nodes of version 4; version 0 has the nodes in the settings
"""
WITHOUT_NODES = (
    "There are no Memcached nodes: the tiers L1, Main and Backup are absent, and posts, profiles and outboxes are "
    "read from PostgreSQL."
)
MEGABYTE = 1024 * 1024
SETTLE_PATIENCE_SECONDS = 60.0
SETTLE_POLL_SECONDS = 2.0
PIPED_WIDTH = 200  # so that no line is wrapped in a file or a pipe
REDIS_ADDRESSES = (
    "redis://host:port/db, unix:///path?db=1, redis+cluster://host:port,host:port, or “settings”"
)
RESIZABLE = (Pool.MAIN.value, Pool.BACKUP.value)
FORMS = "main:SLOT, backup:SLOT or l1:GROUP:SLOT"


class Command(BaseCommand):
    help = "Show and change the Memcached nodes and the Redis servers of the running site. No process is restarted."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        verbs = parser.add_subparsers(dest="verb", metavar="WHAT", required=True)
        verbs.add_parser("topology", help="show pools, nodes, processes")
        verbs.add_parser("check", help="probe every node and process; exit code 1 if something is wrong")  # fmt: skip
        add = verbs.add_parser("add-l1", help="add a group to L1")
        add.add_argument("urls", nargs="+", metavar="ADDRESS", help="host:port or unix:/path")
        add.add_argument(
            "--megabytes",
            type=int,
            help="memory of each node (default: an eighth of Main for the group, divided equally)",
        )
        change = verbs.add_parser("replace", help="put another node into a slot")
        change.add_argument("place", help=FORMS)
        change.add_argument("url", metavar="ADDRESS", help="host:port or unix:/path")
        change.add_argument("--megabytes", type=int, help="memory of the node (default: unchanged)")
        drain = verbs.add_parser("drain", help="stop reading a slot, or remove an L1 group")
        drain.add_argument("place", help=f"{FORMS}, or l1:GROUP")
        _add_resizes(verbs)
        flush = verbs.add_parser("flush", help="empty one class of data")
        flush.add_argument("name", choices=CLASSES)
        verbs.add_parser(
            "restored",
            help="ignore everything that was cached before a restore of the database",
        )
        move = verbs.add_parser("move", help="move a class of data to another Redis in three steps")
        move.add_argument("name", metavar="CLASS", help=", ".join(TENANTS))
        move.add_argument("url", metavar="ADDRESS", help=REDIS_ADDRESSES)
        back = verbs.add_parser("rollback", help="return to an earlier version of the topology")
        back.add_argument("version", type=int, help="the number of the version")

    def handle(self, *args: Any, **options: Any) -> None:
        verb = options["verb"]
        with override("en"):
            if verb in {"topology", "check"}:
                self._show(is_check=verb == "check")
                return
            if verb == "restored":
                epoch = begin_by_hand()
                self.stdout.write(
                    f"Everything cached before is ignored from now on (epoch {epoch:x})."
                )
                return
            try:
                if verb == "move":
                    self._move(options["name"], options["url"])
                    return
                if verb == "resizes":
                    self._finish()
                    return
                row = _VERBS[verb](options, Author(_own_name()))
            except DomainError as refusal:
                raise CommandError(refusal.message) from None
        self._say(row)
        if verb in {"grow", "shrink", "abort"} and not options["no_wait"]:
            self._finish()

    def _finish(self) -> None:
        """Take the remaining steps of all resizes, as the site's workers also do. May be interrupted."""
        told = ""
        while progress := resizing.progress():
            if row := resizing.advance():
                self._say(row)
                continue
            text = _progress_text(progress[0])
            if text != told:
                self.stdout.write(text)
            told = text
            time.sleep(SETTLE_POLL_SECONDS)
        self.stdout.write("No pool is changing its slots.")

    def _move(self, name: str, url: str) -> None:
        """Take the remaining steps of a move; each waits up to a minute for every process to take the previous one."""
        url, by = "" if url == SETTINGS else url, Author(_own_name())
        tenant = topology_in_force().tenant(name)
        if tenant == Tenant(url):
            raise CommandError(f"The {name} are there already.")
        if url not in (tenant.url, tenant.also):
            self._say(actions.join_server(name, url, by=by))
        if topology_in_force().tenant(name).url != url:
            self._settle()
            self._say(actions.switch_server(name, by=by))
        self._settle()
        self._say(actions.leave_server(name, by=by))

    def _settle(self) -> None:
        deadline = time.monotonic() + SETTLE_PATIENCE_SECONDS
        while (reason := actions.reason_to_wait()) and time.monotonic() < deadline:
            self.stdout.write(reason)
            time.sleep(SETTLE_POLL_SECONDS)

    def _say(self, row: TopologyVersion) -> None:
        self.stdout.write(f"Version {row.pk}: {row.detail}.")

    def _show(self, *, is_check: bool) -> None:
        topology = topology_in_force()
        nodes, processes = node_statuses(topology), fleet(topology)
        width = None if self.stdout.isatty() else PIPED_WIDTH
        console = Console(width=width, highlight=False)
        with console.capture() as captured:
            console.print(_node_table(topology, nodes))
            if processes.processes:
                console.print(_process_table(processes))
        self.stdout.write(captured.get())
        if not topology.main:
            self.stdout.write(WITHOUT_NODES)
        troubles = _troubles(topology, nodes, processes)
        for line in troubles:
            self.stdout.write(line)
        if not is_check:
            return
        if troubles:
            raise SystemExit(1)
        self.stdout.write("All is well.")


def _progress_text(one: Progress) -> str:
    text = f"{one.pool}: step {one.step} of 3, {one.buckets:.0%} of its keys move. {one.waits_for}"
    if one.old_answers is not None:
        text += f" {one.old_answers:.1%} of its answers came from the old slots."
    return text.rstrip()


def _add_resizes(verbs: Any) -> None:
    grow = verbs.add_parser("grow", help="add slots to Main or Backup, without a restart")
    grow.add_argument("pool", choices=RESIZABLE)
    grow.add_argument("urls", nargs="+", metavar="ADDRESS", help="host:port or unix:/path")
    grow.add_argument("--megabytes", type=int, help="memory of each node (default: that of slot 0)")
    shrink = verbs.add_parser("shrink", help="remove slots from Main or Backup")
    shrink.add_argument("places", nargs="+", metavar="PLACE", help="main:SLOT or backup:SLOT")
    abort = verbs.add_parser("abort", help="cancel a change of slots")
    abort.add_argument("pool", choices=RESIZABLE)
    for verb in (grow, shrink, abort):
        verb.add_argument("--no-wait", action="store_true", help="begin; the site completes the change")  # fmt: skip
    verbs.add_parser("resizes", help="continue a change of slots")


def _own_name() -> str:
    return f"command line ({getpass.getuser()})"


def _troubles(topology: Topology, nodes: Sequence[NodeStatus], processes: Fleet) -> list[str]:
    """The problems, one per line. Unusual sizes are not problems: `_node_table` shows them as remarks."""
    lines = (
        [f"Wrong: {text}" for text in finding_texts(problems(topology))] if topology.main else []
    )
    lines += [
        f"Wrong: {node.title} ({node.node.url}): {node.health.error}."
        for node in nodes
        if not node.health.is_well
    ]
    if processes.processes is None:
        lines.append("Wrong: Redis does not answer; processes keep the version they have.")
    lines += [
        f"Wrong: {process.role} {process.name} runs version {process.version}, not {topology.version}."
        for process in processes.lagging
    ]
    return lines


def _node_table(topology: Topology, nodes: Sequence[NodeStatus]) -> Table:
    version = f"version {topology.version}" if topology.version else "the settings"
    remarks = finding_texts(warnings(topology)) if topology.main else []
    remarks += [_progress_text(one) for one in resizing.progress()]
    table = Table(title=f"Cache topology: {version}", caption="\n".join(remarks) or None)
    for heading in ("place", "name", "address", "health", "hit rate", "memory", "evictions", "items"):  # fmt: skip
        table.add_column(heading)
    for status in nodes:
        table.add_row(
            status.title, escape(status.node.name), escape(status.node.url), *_figures(status)
        )
    return table


def _figures(status: NodeStatus) -> list[str]:
    health = status.health
    if not health.is_well:
        return [f"[red]down[/red]{_unread(status)}", "", f"{status.node.megabytes} MB", "", ""]
    hit_rate = "" if health.hit_rate is None else f"{health.hit_rate:.1%}"
    memory = f"{health.bytes_used / MEGABYTE:.1f} of {health.max_bytes / MEGABYTE:.0f} MB"
    works = f"[green]works[/green] {health.milliseconds:.1f} ms{_unread(status)}"
    return [works, hit_rate, memory, f"{health.evictions:,}", f"{health.items:,}"]


def _unread(status: NodeStatus) -> str:
    return "" if status.node.is_read else f" ({status.node.state})"


def _process_table(processes: Fleet) -> Table:
    table = Table(title="Processes")
    for heading in ("process", "role", "version"):
        table.add_column(heading)
    for process in processes.processes or []:
        lags = process.version != processes.version
        table.add_row(
            escape(process.name),
            process.role,
            f"[red]{process.version}[/red]" if lags else str(process.version),
        )
    return table


def place_of(text: str) -> Place:
    parts = text.split(":")
    try:
        pool, numbers = Pool(parts[0]), [_number(part) for part in parts[1:]]
    except ValueError:
        numbers, pool = [], Pool.MAIN
    if len(numbers) != (2 if pool is Pool.L1 else 1):
        raise CommandError(f"{text!r} is not a place: give {FORMS}.")
    return Place(pool, numbers[-1], numbers[0] if pool is Pool.L1 else 0)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(text)
    return int(text)


def _add(options: dict[str, Any], by: Author) -> TopologyVersion:
    eighth = max(megabytes(topology_in_force().main) // (8 * len(options["urls"])), 1)
    return actions.add_l1_group(options["urls"], options["megabytes"] or eighth, by=by)


def _replace(options: dict[str, Any], by: Author) -> TopologyVersion:
    return actions.replace_node(place_of(options["place"]), options["url"], options["megabytes"], by=by)  # fmt: skip


def _drain(options: dict[str, Any], by: Author) -> TopologyVersion:
    pool, _colon, rest = options["place"].partition(":")
    if pool == Pool.L1 and rest.isascii() and rest.isdecimal():
        return actions.drain_l1_group(int(rest), by=by)
    return actions.drain_node(place_of(options["place"]), by=by)


def _grow(options: dict[str, Any], by: Author) -> TopologyVersion:
    pool = Pool(options["pool"])
    size = resizing.usual_megabytes(topology_in_force(), pool)
    return resizing.grow(pool, options["urls"], options["megabytes"] or size, by=by)


def _shrink(options: dict[str, Any], by: Author) -> TopologyVersion:
    places = [place_of(text) for text in options["places"]]
    pools = {place.pool for place in places}
    if len(pools) != 1 or Pool.L1 in pools:
        raise CommandError("Give places of Main, or places of Backup.")
    return resizing.shrink(pools.pop(), {place.slot for place in places}, by=by)


def _abort(options: dict[str, Any], by: Author) -> TopologyVersion:
    return resizing.abort(Pool(options["pool"]), by=by)


def _flush(options: dict[str, Any], by: Author) -> TopologyVersion:
    return actions.flush_class(options["name"], by=by)


def _roll_back(options: dict[str, Any], by: Author) -> TopologyVersion:
    return actions.roll_back(options["version"], by=by)


_VERBS: dict[str, Callable[[dict[str, Any], Author], TopologyVersion]] = {
    "add-l1": _add,
    "replace": _replace,
    "drain": _drain,
    "grow": _grow,
    "shrink": _shrink,
    "abort": _abort,
    "flush": _flush,
    "rollback": _roll_back,
}
