"""`manage migrate` for a database in use: its own connection and timeouts, and indexes built concurrently."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as Migrate
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import DeadlockDetected, LockNotAvailable

from feedsite.environment import Environment, postgresql_options
from feedsite.management.compatibility import record_version, refuse_other_data

PAUSE_SECONDS = 1.0
ADVISORY_LOCK = 0x66656564  # "feed": one migration at a time
_CONCURRENTLY = re.compile(
    r'CREATE (?:UNIQUE )?INDEX CONCURRENTLY (?:IF NOT EXISTS )?"(?P<name>[^"]+)" ON "(?P<table>[^"]+)"'
)
_FIND = """
SELECT i.indisvalid FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
WHERE c.relname = %s AND t.relname = %s AND pg_table_is_visible(t.oid)
"""

Execute = Callable[..., Any]


@contextmanager
def connected_for_migrations(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Use a direct connection, without a pool, pooler or statement timeout, and with a short lock timeout."""
    usual = connection.settings_dict
    connection.close()  # back into its pool, while the settings still name one
    connection.settings_dict = settings_for_migrations(connection.alias, usual)
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = usual


def settings_for_migrations(alias: str, usual: dict[str, Any]) -> dict[str, Any]:
    """The settings of a connection that bypasses the pool and the pooler, without a statement timeout."""
    config = dict(usual)
    if alias == DEFAULT_DB_ALIAS and settings.MIGRATIONS_DATABASE_URL:
        overrides = Environment.db_url_config(settings.MIGRATIONS_DATABASE_URL)
        config |= {**overrides, "ENGINE": usual["ENGINE"]}
    timeouts = {"statement_timeout": 0, "lock_timeout": settings.MIGRATIONS_LOCK_TIMEOUT_MS}
    options = {name: value for name, value in config.get("OPTIONS", {}).items() if name != "pool"}
    return {**config, "OPTIONS": {**options, "options": postgresql_options(timeouts)}}


@contextmanager
def exclusive_lock(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Wait for other migrations of this database to end. The lock ends with the connection."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 0")
        cursor.execute("SELECT pg_advisory_lock(%s)", [ADVISORY_LOCK])
        cursor.execute(f"SET lock_timeout = {settings.MIGRATIONS_LOCK_TIMEOUT_MS:d}")
    yield


def concurrent_indexes(connection: BaseDatabaseWrapper, report: Callable[[str], None]) -> Execute:
    """An execute wrapper for `CREATE INDEX CONCURRENTLY`.

    The build waits for transactions but blocks none, so it has no lock timeout. An interrupted build leaves an invalid
    index, which is maintained but never used, so it is dropped first. A valid index whose migration was not recorded
    is not built again, because only that migration uses its name.
    """

    def wrapper(execute: Execute, sql: Any, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001 -- Django's interface
        match = _CONCURRENTLY.match(str(sql))
        if match is None:
            return execute(sql, params, many, context)
        name, is_valid = match["name"], _is_valid(connection, match["name"], match["table"])
        if is_valid:
            report(f"The index {name} already exists")
            return None
        context["cursor"].execute("SET lock_timeout = 0")
        if is_valid is False:
            report(f"The index {name} is an unfinished build: it is dropped and built again")
            context["cursor"].execute(f'DROP INDEX CONCURRENTLY "{name}"')
        result = execute(sql, params, many, context)
        context["cursor"].execute(f"SET lock_timeout = {settings.MIGRATIONS_LOCK_TIMEOUT_MS:d}")
        return result

    return wrapper


def _is_valid(connection: BaseDatabaseWrapper, name: str, table: str) -> bool | None:
    with connection.cursor() as cursor:
        cursor.execute(_FIND, [name, table])
        row = cursor.fetchone()
        return row[0] if row else None


def set_timeouts_of_role(connection: BaseDatabaseWrapper) -> None:
    """Set the timeouts on the site's role in this database, because a pooler does not accept them from the site.

    They apply to connections that PgBouncer opens from now on.
    """
    role = settings.DATABASES[DEFAULT_DB_ALIAS]["USER"] or connection.settings_dict["USER"]
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_database()")
        (database,) = cursor.fetchone()
        for name, milliseconds in settings.DATABASE_TIMEOUTS.items():
            cursor.execute(
                f"ALTER ROLE {quote(role)} IN DATABASE {quote(database)} SET {name} = {milliseconds:d}"
            )


class Command(Migrate):
    """Migrates over a direct connection, without a statement timeout, retrying when a table is locked."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate the data of a supported release; wait and retry after a lock timeout or a deadlock."""
        connection = connections[options["database"]]
        if connection.in_atomic_block:  # in the caller's transaction
            refuse_other_data(connection)
            super().handle(*args, **options)
            return
        self._refuse_pooler(options["database"])
        with connected_for_migrations(connection), exclusive_lock(connection):
            refuse_other_data(connection)
            with connection.execute_wrapper(concurrent_indexes(connection, self.report)):
                self._migrate_with_retries(*args, **options)
            record_version(connection)
            if settings.DATABASE_POOLER:
                set_timeouts_of_role(connection)

    def _migrate_with_retries(self, *args: Any, **options: Any) -> None:
        for attempt in range(1, settings.MIGRATIONS_LOCK_ATTEMPTS + 1):
            try:
                super().handle(*args, **options)
            except OperationalError as error:
                is_last = attempt == settings.MIGRATIONS_LOCK_ATTEMPTS
                if is_last or not isinstance(error.__cause__, LockNotAvailable | DeadlockDetected):
                    raise
                self.report(f"A table was locked (attempt {attempt}); retrying in a moment")
                time.sleep(PAUSE_SECONDS)
            else:
                return

    def _refuse_pooler(self, alias: str) -> None:
        if (
            alias == DEFAULT_DB_ALIAS
            and settings.DATABASE_POOLER
            and not settings.MIGRATIONS_DATABASE_URL
        ):
            raise CommandError(
                "DATABASE_URL names a pooler (DATABASE_POOLER): set MIGRATIONS_DATABASE_URL to PostgreSQL itself."
            )

    def report(self, line: str) -> None:
        """Print a line that stands out from Django's output."""
        self.stderr.write(line)
