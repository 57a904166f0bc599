"""Hand-written SQL: for queries that the ORM cannot express, and for the few queries that every request makes.

For such frequent queries, the ORM takes several times longer to build the SQL than PostgreSQL takes to run it. All
statements are counted. `purge` deletes rows whose retention has ended.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from time import monotonic, perf_counter
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model, QuerySet
from psycopg.errors import QueryCanceled

from feedcache import stats

M = TypeVar("M", bound=Model)
Row = tuple[Any, ...]

PURGE_BATCH_SIZE = 1_000  # a statement takes about ten milliseconds, far less than its time-out
PURGE_SECONDS = 20.0  # per run of a task; the next run deletes the rest


def rows_of(sql: str, params: Mapping[str, Any], *, database: str = DEFAULT_DB_ALIAS) -> list[Row]:
    with connections[database].cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[Row] = cursor.fetchall()
        return rows


def database_time() -> datetime:
    """The time of PostgreSQL's clock, for times that one process writes and another compares."""
    [(now,)] = rows_of("SELECT clock_timestamp()", {})
    found: datetime = now
    return found


_HAS_CITUS = "SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL"


def is_distributed(connection: BaseDatabaseWrapper) -> bool:
    """Whether Citus distributes the tables of a database over several servers (`manage distribute`)."""
    with connection.cursor() as cursor:
        cursor.execute(_HAS_CITUS)
        if cursor.fetchone() != (True,):  # there is no Citus
            return False
        cursor.execute("SELECT EXISTS (SELECT FROM pg_dist_partition WHERE partmethod = 'h')")
        return bool(cursor.fetchone() == (True,))


_ESTIMATE = "SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(%(table)s)"
# The coordinator's own table is empty: its rows are in the shards.
_ESTIMATE_OF_SHARDS = """
SELECT sum(greatest(shard.result::bigint, 0))::bigint
FROM pg_dist_partition, run_command_on_shards(logicalrelid, %(command)s) shard
WHERE logicalrelid = to_regclass(%(table)s) AND shard.success
"""
_OF_A_SHARD = "SELECT reltuples::bigint FROM pg_class WHERE oid = '%s'::regclass"


def estimated_rows(table: str) -> int:
    """The number of rows of a table, estimated from its statistics; -1 or 0 before autovacuum first analyses it."""
    [(estimate, has_citus)] = rows_of(f"SELECT ({_ESTIMATE}), ({_HAS_CITUS})", {"table": table})
    if has_citus:
        [(of_shards,)] = rows_of(_ESTIMATE_OF_SHARDS, {"table": table, "command": _OF_A_SHARD})
        if of_shards is not None:  # None for a table that is not distributed
            return int(of_shards)
    return int(estimate)


# Prefixes of the SQLSTATEs for a lost connection, and for a server that is shutting down or starting up.
AWAY = ("08", "57P")
LOST_IN_TRANSACTION = "failure on connection marked as essential"  # an error without an SQLSTATE


def sqlstate(error: BaseException) -> str | None:
    """The SQLSTATE of a Django database error; None if no server sent it."""
    state: str | None = getattr(error.__cause__, "sqlstate", None)
    return state


def is_worker_away(error: BaseException) -> bool:
    """Whether the PostgreSQL server of this site answered, but the Citus worker that stores the rows did not."""
    diagnosis = getattr(error.__cause__, "diag", None)
    if getattr(diagnosis, "severity_nonlocalized", None) != "ERROR":
        return False  # no error of a statement: perhaps our own connection ended
    return (sqlstate(error) or "").startswith(AWAY) or LOST_IN_TRANSACTION in str(error)


_REACHABLE = """
WITH there AS MATERIALIZED (
    SELECT groupid FROM pg_dist_node WHERE citus_check_connection_to_node(nodename, nodeport)
)
SELECT account.id FROM unnest(%(accounts)s::bigint[]) AS account (id)
JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('accounts_usercounts', account.id)
WHERE p.groupid IN (SELECT groupid FROM there)
"""


def reachable(account_ids: Iterable[int]) -> list[int]:
    """The given accounts whose rows can be read now. Only distributed sites call this, after `is_worker_away`."""
    return [row[0] for row in rows_of(_REACHABLE, {"accounts": list(account_ids)})]


class TooSlow(Exception):
    """The time limit expired before PostgreSQL returned the rows."""


_BOUND = "SET LOCAL statement_timeout = %(milliseconds_left)s"


class TimeLimit:
    """A time limit for all statements of a request together, for requests whose parameters affect the cost."""

    def __init__(self, seconds: float) -> None:
        self._until = monotonic() + seconds

    def rows_of(
        self, sql: str, params: Mapping[str, Any], *, database: str = DEFAULT_DB_ALIAS
    ) -> list[Row]:
        """The rows, in one round trip. Raises TooSlow if PostgreSQL cancels the statement because the time is up."""
        left = max(1, int(1000 * (self._until - monotonic())))
        bounded = f"{_BOUND}; {sql}; SET LOCAL statement_timeout = DEFAULT"
        try:
            with connections[database].cursor() as cursor:
                cursor.execute(bounded, {**params, "milliseconds_left": left})
                cursor.nextset()
                rows: list[Row] = cursor.fetchall()
                return rows
        except OperationalError as error:
            if isinstance(error.__cause__, QueryCanceled):
                raise TooSlow from error
            raise


def rows_of_each(sql: str, params: Mapping[str, Any] | Sequence[Any]) -> list[list[Row]]:
    """Run the statements in `sql`, separated by semicolons, in one round trip; returns the rows of each."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        results = []
        while True:
            results.append(cursor.fetchall() if cursor.description else [])
            if not cursor.nextset():
                return results


def lock_each(model: type[M], keys: Collection[int]) -> dict[int, M]:
    """The rows of these primary keys, locked in the order of the keys until the transaction ends. One round trip.

    Each row takes a separate statement, because one statement cannot lock rows that are on several servers.
    """
    columns = Columns(model)
    table, key = model._meta.db_table, model._meta.pk.column
    lock = f"SELECT {columns.of('t')} FROM {table} t WHERE {key} = %s FOR UPDATE"  # noqa: S608 -- only our own table and column names
    ordered = sorted(set(keys))
    if not ordered:
        return {}
    rows = rows_of_each("; ".join([lock] * len(ordered)), ordered)
    found = [columns.instance(row) for [row] in filter(None, rows)]
    return {int(row.pk): row for row in found}


def change(sql: str, **params: Any) -> int:
    """Run a statement; returns the number of rows that it changed."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)


def purge(rows: QuerySet[Any], *, seconds: float = PURGE_SECONDS) -> int:
    """Delete rows in their order, a thousand at a time, until none are left or time is up; returns the number.

    Rows deleted by cascade are not counted. A row that no longer matches when its batch is deleted stays, but is
    counted. In autocommit each batch is a separate transaction, so no lock is held for long.
    """
    until = monotonic() + seconds
    total = 0
    while True:
        keys = list(rows.values_list("pk", flat=True)[:PURGE_BATCH_SIZE])
        rows.filter(pk__in=keys).delete()
        total += len(keys)
        if len(keys) < PURGE_BATCH_SIZE or monotonic() >= until:
            return total


class Columns(Generic[M]):
    """Writes the column names of a model into SQL (all columns, or `names`), and makes instances from selected rows."""

    def __init__(self, model: type[M], names: Collection[str] | None = None) -> None:
        fields = [
            field
            for field in model._meta.concrete_fields
            if names is None or field.attname in names
        ]
        self._model = model
        self._names = [field.attname for field in fields]
        # for fields whose values must be converted: JSON, for example, arrives as text
        self._converters = [
            (index, field.from_db_value)
            for index, field in enumerate(fields)
            if hasattr(field, "from_db_value")
        ]

    def __len__(self) -> int:
        return len(self._names)

    def of(self, table: str) -> str:
        """The column names for a SELECT, each with the table or its alias."""
        return ", ".join(f"{table}.{name}" for name in self._names)

    def insertion(self) -> str:
        """An INSERT of one row, with a parameter named after each column; `values` supplies them."""
        names = ", ".join(self._names)
        params = ", ".join(f"%({name})s" for name in self._names)
        return f"INSERT INTO {self._model._meta.db_table} ({names}) VALUES ({params})"  # noqa: S608 -- only our own table and column names

    def values(self, instance: M) -> dict[str, Any]:
        """The parameters of `insertion`. They are not converted for the driver, so files and JSON are not supported."""
        return {name: getattr(instance, name) for name in self._names}

    def instance(self, values: Sequence[Any]) -> M:
        """An instance from the values of the columns, in their order."""
        converted = list(values)
        for index, convert in self._converters:
            converted[index] = convert(converted[index], None, connection)
        return self._model.from_db(DEFAULT_DB_ALIAS, self._names, converted)


def count_statements_of(connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Count the statements that this process sends to PostgreSQL over a connection."""
    if _counted not in connection.execute_wrappers:
        # inserted first, because Django's `execute_wrapper` pops the last one when it ends
        connection.execute_wrappers.insert(0, _counted)


def _counted(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001 -- Django's interface
    """Count a statement as a call to its database.

    Errors of the connection or the server count as failures (time-outs, deadlocks); wrong statements do not.
    """
    began, failed = perf_counter(), False
    try:
        return execute(sql, params, many, context)
    except (InterfaceError, OperationalError):
        failed = True
        raise
    finally:
        stats.count_call(f"postgresql {context['connection'].alias}", began, failed=failed)
