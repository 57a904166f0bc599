"""Finds changes of models without a migration; `makemigrations --check` would first connect to a database."""

import sys
from collections.abc import Iterator

import django
from django.apps import apps
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.questioner import NonInteractiveMigrationQuestioner
from django.db.migrations.state import ProjectState


def missing() -> Iterator[str]:
    """Each operation that `makemigrations` would write, and apps with two leaf migrations."""
    loader = MigrationLoader(None)
    for app, names in loader.detect_conflicts().items():
        yield f"{app}: {' and '.join(sorted(names))} are both leaf migrations"
    changes = MigrationAutodetector(
        loader.project_state(),
        ProjectState.from_apps(apps),
        NonInteractiveMigrationQuestioner(dry_run=True),
    ).changes(graph=loader.graph)
    for app, migrations in sorted(changes.items()):
        for migration in migrations:
            yield from (f"{app}: {operation.describe()}" for operation in migration.operations)


def main() -> int:
    django.setup()
    found = list(missing())
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
