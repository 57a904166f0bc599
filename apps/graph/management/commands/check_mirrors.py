"""`manage check_mirrors`: check that the two follow tables mirror each other, and that the counts agree with them."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from apps.graph.queries import mirror_faults


class Command(BaseCommand):
    help = "Compare followers with followees, and stored counts with the rows they count. Exit code 1 on a difference."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        faults = mirror_faults()
        if options["json"]:
            self.stdout.write(json.dumps(faults))
        else:
            for kind, number in faults.items():
                self.stdout.write(f"{number:>10,}  {kind}")
        if any(faults.values()):
            raise SystemExit(1)
