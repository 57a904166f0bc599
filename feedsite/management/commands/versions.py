"""`manage versions`: the versions of code and PostgreSQL, missing migrations, and the epoch."""

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from apps.operations.epoch import newest_epoch
from apps.sql import rows_of
from feedsite import __version__
from feedsite.management.compatibility import unknown_migrations

EXAMPLES = """
examples:
  ./run manage versions                          before and after an upgrade
  ./run manage versions --json | jq .missing     for programs
  ./run manage versions --check                  exit status 1 while migrations are missing
"""


class Command(BaseCommand):
    help = "Print the versions of code and PostgreSQL, the missing migrations, and the epoch of the caches."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument(
            "--check", action="store_true", help="exit status 1 if migrations are missing"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        found = versions()
        self.stdout.write(json.dumps(found) if options["json"] else "\n".join(_lines(found)))
        if options["check"] and found["missing"]:
            raise SystemExit(1)


def versions() -> dict[str, Any]:
    """The versions. `missing`: migrations of this code that were not applied; `unknown`: applied ones that it lacks."""
    loader = MigrationLoader(connection)
    known, applied = set(loader.graph.nodes), set(loader.applied_migrations)
    [(server,)] = rows_of("SELECT version()", {})
    missing = known - applied
    # if migrations are missing, the table of epochs may lack columns
    epoch = None if missing else newest_epoch()
    return {
        "version": __version__,
        "applied": len(applied & known),
        "missing": _names(missing),
        "unknown": _names(unknown_migrations(applied)),
        "postgresql": server.split(" on ")[0],
        "epoch": epoch.value if epoch else None,
        "epoch_began": epoch.began_at.isoformat() if epoch else None,
    }


def _names(migrations: set[tuple[str, str]]) -> list[str]:
    return sorted(f"{app}.{name}" for app, name in migrations)


def _lines(found: dict[str, Any]) -> list[str]:
    missing, unknown = found["missing"], found["unknown"]
    lines = [
        f"feedsite {found['version']}",
        f"migrations: {found['applied']} applied, {len(missing)} missing"
        + (f", {len(unknown)} of a newer version" if unknown else ""),
        *(f"  missing: {name}" for name in missing),
        *(f"  of a newer version: {name}" for name in unknown),
        f"database: {found['postgresql']}",
    ]
    if found["epoch"] is not None:
        lines.append(f"epoch of the caches: {found['epoch']}, since {found['epoch_began']}")
    return lines
