"""How migrations meet a database that is in use: their connection, their time-outs, and indexes that are built beside writers."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.db.backends.base.base import BaseDatabaseWrapper

from feedsite.environment import Environment, postgresql_options

PAUSE_SECONDS = 1.0
ADVISORY_LOCK = 0x66656564  # "feed": one migration at a time, whoever starts it
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
    """Use a connection of its own kind: past pool and pooler, statements without a limit, locks waited for shortly."""
    usual = connection.settings_dict
    connection.close()  # back into its pool, while the settings still name one
    connection.settings_dict = _for_migrations(connection.alias, usual)
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = usual


def _for_migrations(alias: str, usual: dict[str, Any]) -> dict[str, Any]:
    chosen = dict(usual)
    if alias == DEFAULT_DB_ALIAS and settings.MIGRATIONS_DATABASE_URL:
        given = Environment.db_url_config(settings.MIGRATIONS_DATABASE_URL)
        chosen |= {**given, "ENGINE": usual["ENGINE"]}
    timeouts = {"statement_timeout": 0, "lock_timeout": settings.MIGRATIONS_LOCK_TIMEOUT_MS}
    options = {name: value for name, value in chosen.get("OPTIONS", {}).items() if name != "pool"}
    return {**chosen, "OPTIONS": {**options, "options": postgresql_options(timeouts)}}


@contextmanager
def alone(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Wait until nobody else migrates this database. The lock is the connection's and ends with it."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 0")
        cursor.execute("SELECT pg_advisory_lock(%s)", [ADVISORY_LOCK])
        cursor.execute(f"SET lock_timeout = {settings.MIGRATIONS_LOCK_TIMEOUT_MS:d}")
    yield


def concurrent_indexes(connection: BaseDatabaseWrapper, tell: Callable[[str], None]) -> Execute:
    """A wrapper of `execute` for `CREATE INDEX CONCURRENTLY`.

    It waits for transactions to end, in nobody's way, so it has no limit. One that was stopped leaves an index behind that
    is kept up to date and never used: it is dropped first. One that was finished, but not written down as
    migrated, is left as it is: nobody but the same migration gives that name on that table.
    """

    def wrapper(execute: Execute, sql: Any, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001 -- Django's interface
        found = _CONCURRENTLY.match(str(sql))
        if found is None:
            return execute(sql, params, many, context)
        name, is_valid = found["name"], _is_valid(connection, found["name"], found["table"])
        if is_valid:
            tell(f"The index {name} is there already")
            return None
        context["cursor"].execute("SET lock_timeout = 0")
        if is_valid is False:
            tell(f"The index {name} was left unfinished: it is dropped and built again")
            context["cursor"].execute(f'DROP INDEX CONCURRENTLY "{name}"')
        answer = execute(sql, params, many, context)
        context["cursor"].execute(f"SET lock_timeout = {settings.MIGRATIONS_LOCK_TIMEOUT_MS:d}")
        return answer

    return wrapper


def _is_valid(connection: BaseDatabaseWrapper, name: str, table: str) -> bool | None:
    with connection.cursor() as cursor:
        cursor.execute(_FIND, [name, table])
        row = cursor.fetchone()
        return row[0] if row else None


def set_timeouts_of_role(connection: BaseDatabaseWrapper) -> None:
    """Give the site's role its time-outs in this database: a pooler takes none from the site.

    They hold for connections that PgBouncer opens from now on.
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
