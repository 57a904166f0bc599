"""`manage redis_slots show|migrate`: which node of a Redis Cluster owns which slots, and moving one of them."""

from argparse import ArgumentParser
from itertools import pairwise
from typing import Any, cast

from django.core.management.base import BaseCommand, CommandError

from feedcache.redis_servers import connections
from feedcache.redis_servers.clients import Cluster, RedisError, is_cluster
from feedcache.redis_servers.slots import SlotError, masters, migrate

CLASSES = {
    "timelines": connections.timelines,
    "graph": connections.graph,
    "existence": connections.existence,
}


class Command(BaseCommand):
    help = "Slots of a Redis Cluster: show who owns them; move one while everything goes on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--of",
            choices=sorted(CLASSES),
            default="timelines",
            help="whose cluster (default: timelines)",
        )
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("show", help="the masters and their slots")
        move = verbs.add_parser("migrate", help="move a slot; run it again if it was interrupted")
        move.add_argument("slot", type=int)
        move.add_argument(
            "--to", required=True, metavar="HOST:PORT", help="the master that gets it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        client = CLASSES[options["of"]]()
        if not is_cluster(client):
            raise CommandError(
                f"The {options['of']} are not on a Redis Cluster; there are no slots."
            )
        cluster = cast("Cluster", client)
        try:
            if options["verb"] == "show":
                for master in masters(cluster):
                    self.stdout.write(
                        f"{master.address}  {len(master.slots):>6,} slots  {_ranges(master.slots)}"
                    )
            else:
                moved = migrate(cluster, options["slot"], options["to"])
                self.stdout.write(
                    f"slot {options['slot']}: {moved:,} keys moved to {options['to']}"
                )
        except (SlotError, RedisError) as error:
            raise CommandError(str(error)) from None


def _ranges(slots: frozenset[int]) -> str:
    numbers = sorted(slots)
    if not numbers:
        return ""
    ends = [(a, b) for a, b in pairwise(numbers) if b != a + 1]
    firsts, lasts = [numbers[0], *(b for _, b in ends)], [*(a for a, _ in ends), numbers[-1]]
    return " ".join(f"{a}-{b}" if a != b else str(a) for a, b in zip(firsts, lasts, strict=True))
