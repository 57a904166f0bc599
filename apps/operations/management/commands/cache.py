"""`manage cache`: the cache topology from the command line, while the site runs."""

import getpass
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import override
from rich.console import Console

from apps.errors import DomainError
from apps.operations import actions
from apps.operations.actions import Author
from apps.operations.management import cache_tables
from apps.operations.models import TopologyVersion
from apps.operations.queries import fleet, node_statuses, topology_in_force
from feedcache.topology import CLASSES, Place, Pool, megabytes

EXAMPLES = """
A place is main:SLOT, backup:SLOT or l1:GROUP:SLOT; all count from 0. A group of L1 is l1:GROUP.
Every running process uses a change within two seconds, without a restart.

examples:
  ./run manage cache topology                        the pools, the nodes, who runs which version
  ./run manage cache check                           probe every node; exit code 1 when something is wrong
  ./run manage cache add-l1 10.0.0.7:11211 10.0.0.8:11211 --megabytes 64
  ./run manage cache replace main:1 10.0.0.9:11211
  ./run manage cache replace main:1 10.0.0.9:11211 --megabytes 512
  ./run manage cache drain main:1                    read it no more; Backup answers
  ./run manage cache drain l1:3                      take the group out
  ./run manage cache flush outbox                    only this class begins anew
  ./run manage cache rollback 4                      the nodes of version 4; 0 is what the settings say
"""
PIPED_WIDTH = 200  # no line is broken in a file or a pipe
FORMS = "main:SLOT, backup:SLOT or l1:GROUP:SLOT"


class Command(BaseCommand):
    help = "Show and change the Memcached nodes of the running site. No process is restarted."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        verbs = parser.add_subparsers(dest="verb", metavar="WHAT", required=True)
        verbs.add_parser("topology", help="show pools, nodes, processes")
        verbs.add_parser("check", help="probe every node and every process; 1 when something is wrong")  # fmt: skip
        add = verbs.add_parser("add-l1", help="add a group to L1")
        add.add_argument("urls", nargs="+", metavar="ADDRESS", help="host:port or unix:/path")
        add.add_argument("--megabytes", type=int, help="of each node (default: an eighth of Main)")
        change = verbs.add_parser("replace", help="put another node into a slot")
        change.add_argument("place", help=FORMS)
        change.add_argument("url", metavar="ADDRESS", help="host:port or unix:/path")
        change.add_argument("--megabytes", type=int, help="(default: as the old one)")
        drain = verbs.add_parser("drain", help="stop reading a slot, or take out an L1 group")
        drain.add_argument("place", help=f"{FORMS}, or l1:GROUP")
        flush = verbs.add_parser("flush", help="let one class of data begin anew")
        flush.add_argument("name", choices=CLASSES)
        back = verbs.add_parser("rollback", help="go back to an earlier version")
        back.add_argument("version", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        verb = options["verb"]
        with override("en"):
            if verb in {"topology", "check"}:
                self._show(is_check=verb == "check")
                return
            try:
                row = _VERBS[verb](options, Author(f"command line ({getpass.getuser()})"))
            except DomainError as refusal:
                raise CommandError(refusal.message) from None
        self.stdout.write(f"Version {row.pk}: {row.detail}.")

    def _show(self, *, is_check: bool) -> None:
        topology = topology_in_force()
        nodes, processes = node_statuses(topology), fleet(topology)
        width = None if self.stdout.isatty() else PIPED_WIDTH
        console = Console(width=width, highlight=False)
        with console.capture() as captured:
            for table in cache_tables.tables(topology, nodes, processes):
                console.print(table)
        self.stdout.write(captured.get())
        troubles = cache_tables.troubles(topology, nodes, processes)
        for line in troubles:
            self.stdout.write(line)
        if not is_check:
            return
        if troubles:
            raise SystemExit(1)
        self.stdout.write("All is well.")


def place_of(text: str) -> Place:
    parts = text.split(":")
    try:
        pool, numbers = Pool(parts[0]), [_number(part) for part in parts[1:]]
    except ValueError:
        numbers, pool = [], Pool.MAIN
    if len(numbers) != (2 if pool is Pool.L1 else 1):
        raise CommandError(f"{text!r} is no place: give {FORMS}.")
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


def _flush(options: dict[str, Any], by: Author) -> TopologyVersion:
    return actions.flush_class(options["name"], by=by)


def _roll_back(options: dict[str, Any], by: Author) -> TopologyVersion:
    return actions.roll_back(options["version"], by=by)


_VERBS: dict[str, Callable[[dict[str, Any], Author], TopologyVersion]] = {
    "add-l1": _add,
    "replace": _replace,
    "drain": _drain,
    "flush": _flush,
    "rollback": _roll_back,
}
