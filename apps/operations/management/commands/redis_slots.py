"""`manage redis_slots show|migrate`: shows which node of a Redis Cluster owns which slots, and moves a slot."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.operations.queries import CLUSTERS
from feedcache.redis_clients import RedisError, cluster_of
from feedcache.servers.slots import SlotError, masters, migrate


class Command(BaseCommand):
    help = "Show which masters of a Redis Cluster own which slots, and move a slot while the site runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--of",
            choices=sorted(CLUSTERS),
            default="timelines",
            help="use the cluster with this data (default: timelines)",
        )
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("show", help="show the masters and their slots")
        move = verbs.add_parser("migrate", help="move a slot; run it again if it was interrupted")
        move.add_argument("slot", type=int, help="number of the slot")
        move.add_argument(
            "--to", required=True, metavar="HOST:PORT", help="the master that gets the slot"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        cluster = cluster_of(CLUSTERS[options["of"]]())
        if cluster is None:
            raise CommandError(
                f"The {options['of']} are not on a Redis Cluster; there are no slots."
            )
        try:
            if options["verb"] == "show":
                for master in masters(cluster):
                    self.stdout.write(
                        f"{master.address}  {len(master.slots):>6,} slots  {master.ranges}"
                    )
            else:
                moved = migrate(cluster, options["slot"], options["to"])
                self.stdout.write(
                    f"slot {options['slot']}: {moved:,} keys moved to {options['to']}"
                )
        except (SlotError, RedisError) as error:
            raise CommandError(str(error)) from None
