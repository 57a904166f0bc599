"""Decides which databases can be migrated: empty ones, and those with only known migrations and without split tables.

`migrate` stores its version as the comment of the table `django_migrations`. Data of the next release is also
accepted, and left as it is, because a release only adds to the tables, and only a later one removes what it no longer
needs (`docs/decisions/0201`).

Squashed or renamed migrations without `replaces` would fail halfway, and no version could then continue
(`docs/decisions/0144`). So a database is inspected before anything is migrated.
"""

from collections.abc import Collection, Iterable, Mapping

from django.apps import apps
from django.conf import settings
from django.core.management.base import CommandError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from apps.sql import rows_of
from feedsite import __version__

Name = tuple[str, str]  # a migration: its app and its file
MAX_NAMED = 2
COMMENT = "migrated by feedsite "
_COMMENT = "SELECT obj_description(to_regclass('django_migrations'))"
# Of the tables that `manage shards` of 0.2.0 could distribute over several servers, those that it has split.
_SPLIT = """
SELECT relname FROM pg_class WHERE relkind = 'p' AND pg_table_is_visible(oid)
AND relname IN ('graph_followee', 'graph_follower', 'posts_post', 'posts_postcounts', 'posts_revision')
"""


def refuse_other_data(connection: BaseDatabaseWrapper) -> None:
    """Raises CommandError if the data cannot be migrated. It only reads."""
    applied = set(MigrationRecorder(connection).applied_migrations())
    major, minor = _release(__version__)
    if _release(migrated_by(connection)) != [major, minor + 1]:
        refuse_other_migrations(applied)
    recorded = {app for app, _ in applied}
    if tables := _tables_of({app for app, _ in _known_migrations()} - recorded, connection):
        raise CommandError(_unrecorded(tables))
    if split := _split_tables(connection):
        raise CommandError(_in_shards(split))


def migrated_by(connection: BaseDatabaseWrapper) -> str:
    """The version that `record_version` has recorded; empty if no version after 0.3.0 has migrated the data."""
    [(comment,)] = rows_of(_COMMENT, {}, database=connection.alias)
    return (comment or "").removeprefix(COMMENT)


def record_version(connection: BaseDatabaseWrapper) -> None:
    """Record this version, unless a later release has already migrated the data."""
    if _release(migrated_by(connection)) <= _release(__version__):
        with connection.cursor() as cursor:
            cursor.execute(f"COMMENT ON TABLE django_migrations IS '{COMMENT}{__version__}'")


def _release(version: str) -> list[int]:
    return [int(part) for part in version.split(".")[:2] if part]


def refuse_other_migrations(applied: Collection[Name]) -> None:
    """Raises CommandError if data with these applied migrations cannot be migrated to this version."""
    if unknown := unknown_migrations(applied):
        raise CommandError(_too_old(unknown) if is_behind(applied) else _too_new(unknown))


def unknown_migrations(applied: Collection[Name]) -> set[Name]:
    """The applied migrations that this version's code neither has nor replaces.

    Those of optional apps that are switched off are left out: their tables stay in case they are switched on again.
    """
    migrations = _known_migrations()
    replaced = {name for migration in migrations.values() for name in migration.replaces}
    left_out = {name.rpartition(".")[2] for name in settings.LEFT_OUT_APPS}
    unknown = set(applied) - set(migrations) - replaced
    return {name for name in unknown if name[0] not in left_out}


def is_behind(applied: Collection[Name]) -> bool:
    """Whether one of this version's migrations is missing: neither it nor all that it replaces have been applied."""
    return any(
        name not in applied and not (migration.replaces and set(applied).issuperset(migration.replaces))
        for name, migration in _known_migrations().items()
    )  # fmt: skip


def _known_migrations() -> Mapping[Name, Migration]:
    """The migrations in this version's code."""
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    return loader.disk_migrations


def _tables_of(labels: set[str], connection: BaseDatabaseWrapper) -> set[str]:
    """The tables of these apps that exist in the database."""
    models = (model for label in labels for model in apps.get_app_config(label).get_models())
    tables = {model._meta.db_table for model in models if not model._meta.proxy}
    return tables & set(connection.introspection.table_names())


def _split_tables(connection: BaseDatabaseWrapper) -> set[str]:
    """The tables that `manage shards` of 0.2.0 has split, whether or not other servers have any of their rows."""
    return {name for (name,) in rows_of(_SPLIT, {}, database=connection.alias)}


def _too_old(unknown: set[Name]) -> str:
    return (
        f"This database was made by a development version, or one before 0.2.0, that feedsite {__version__}"
        f" cannot migrate: no release has the migrations {_some(map('.'.join, unknown))}. Nothing in it was"
        " changed: start the version that made it, or give this one an empty database."
    )


def _too_new(unknown: set[Name]) -> str:
    return (
        f"This database was migrated by a newer version than feedsite {__version__}: it has the migrations"
        f" {_some(map('.'.join, unknown))}. Nothing in it was changed: start the newer version, or restore"
        " the backup that was made before the upgrade."
    )


def _unrecorded(tables: set[str]) -> str:
    return (
        f"This database has the tables {_some(tables)}, but no record of the migrations that made them"
        " (django_migrations). Nothing in it was changed: restore a whole backup, or give feedsite an empty"
        " database."
    )


def _in_shards(tables: set[str]) -> str:
    return (
        f"This database has follows or posts in shards, which this version cannot read: {_some(tables)}"
        " were split by `manage shards`. Nothing in it was changed: with feedsite 0.2.0 bring all rows into one plain"
        ' database first (docs/deployment.md, "Out of shards").'
    )


def _some(names: Iterable[str]) -> str:
    """Up to two names; if there are more, the first name and the number of the others."""
    first, *others = sorted(names)
    if len(others) < MAX_NAMED:
        return " and ".join((first, *others))
    return f"{first} and {len(others)} others"
