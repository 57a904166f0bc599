"""`manage cassandra`: creates the keyspace and the table of TIMELINE_STORE."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.second_level.stores import CASSANDRA

EXAMPLES = """\
examples:
  manage cassandra                    create what is missing; a second run changes nothing
  manage cassandra --replication 3    keep three copies of each row

The setting TIMELINE_STORE names the nodes and the keyspace:
  TIMELINE_STORE=cassandra://user:password@host,host:9042/keyspace?datacenter=dc1
"""


class Command(BaseCommand):
    help = "Create the keyspace and the table of the second level in Cassandra (TIMELINE_STORE)."
    requires_system_checks = ()  # none, because one of the checks requires the table

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument(
            "--replication",
            type=int,
            metavar="COPIES",
            help="copies of each row in a new keyspace (default: 3, or one for each node if there are fewer)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.TIMELINE_STORE.startswith(CASSANDRA):
            raise CommandError(
                "TIMELINE_STORE is not a Cassandra address: there is nothing to create."
            )
        try:
            from apps.second_level.stores import cassandra  # noqa: PLC0415 -- needs the driver
        except ImportError:
            raise CommandError(
                "cassandra-driver is not installed (pip install cassandra-driver)."
            ) from None
        try:
            address = cassandra.Address.parse(settings.TIMELINE_STORE)
            copies = cassandra.create_tables(address, replication=options["replication"])
        except (ValueError, *cassandra.ERRORS) as error:
            raise CommandError(f"TIMELINE_STORE: {error}") from None
        if options["verbosity"]:
            self.stdout.write(
                f"{address.keyspace}.{cassandra.TABLE} exists ({copies} copies if it is new)."
            )
