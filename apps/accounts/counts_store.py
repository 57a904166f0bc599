"""Supplies a CounterService with counts from a table, and puts committed changes of the table into Redis.

Every change of counts except `raise_to` and `add_to` increases the revision, so puts may arrive late, repeatedly or in
any order. Changes use SQL with RETURNING, which the ORM lacks, to return the values that they wrote.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from time import monotonic
from typing import Any

from django.db import connection, models, transaction

from apps.events.actions import enqueue, record
from apps.sql import rows_of_each
from feedcache.connections import RedisError
from feedcache.ids import author_of, authors_of
from feedcache.read_through import Batch, QueueWrites
from feedcache.structures.counters.buckets import Span
from feedcache.structures.counters.maintenance import invalidate
from feedcache.structures.counters.records import Row
from feedcache.structures.counters.service import CounterService

logger = logging.getLogger(__name__)

ENQUEUE_SECONDS = 5.0  # the shortest time between two rebuilds that one process enqueues

_enqueued_at: dict[str, float] = {}


@dataclass(frozen=True)
class CountsTable:
    """A model with a column for each count, and `revision`. `rebuild` names the task that rebuilds its counters."""

    model: type[models.Model]
    columns: tuple[str, ...]
    rebuild: str

    def rows(self, ids: Collection[int]) -> dict[int, Row]:
        where, args = f"c.{self.key} = ANY(%s)", [list(ids)]
        if self.author:
            where, args = f"{where} AND c.{self.author} = ANY(%s)", [*args, list(authors_of(ids))]
        sql = f"SELECT {self._row} FROM {self.table} c WHERE {where}"  # noqa: S608 -- only our own table and column names
        return {row.id: row for row in self._select(sql, args)}

    def rows_in(self, spans: Sequence[Span]) -> list[Row]:
        """The rows of ids in these spans (a range and a bit mask), without rows whose counts have never changed."""
        sql = (
            f"SELECT {self._row} FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])"  # noqa: S608 -- only our own table and column names
            f" AS s(low, high, mask, value) JOIN {self.table} c"
            f" ON c.{self.key} BETWEEN s.low AND s.high AND c.{self.key} & s.mask = s.value"
            f" WHERE {self._counted}"
        )
        return self._select(sql, [list(part) for part in zip(*spans, strict=True)])

    def rows_after(self, id_: int, *, limit: int) -> list[Row]:
        """The next rows above an id, without rows whose counts have never changed."""
        sql = (
            f"SELECT {self._row} FROM {self.table} c WHERE c.{self.key} > %s AND ({self._counted})"  # noqa: S608 -- only our own table and column names
            f" ORDER BY c.{self.key} LIMIT %s"
        )
        return self._select(sql, [id_, limit])

    def all_rows_after(self, id_: int, *, limit: int) -> list[Row]:
        """The next rows above an id, including rows whose counts have never changed."""
        sql = f"SELECT {self._row} FROM {self.table} c WHERE c.{self.key} > %s ORDER BY 1 LIMIT %s"  # noqa: S608 -- only our own table and column names
        return self._select(sql, [id_, limit])

    def ends(self) -> tuple[int, int]:
        """The lowest and the highest id."""
        ends = self.model._default_manager.aggregate(models.Min("pk"), models.Max("pk"))
        return ends["pk__min"] or 0, ends["pk__max"] or 0

    def change(self, id_: int, deltas: Mapping[str, int], **values: Any) -> Row | None:
        """Add to counts, set other columns, and raise the revision. Returns the new row; None if there is no row."""
        sets = [f"{name} = {name} + %s" for name in deltas] + [f"{name} = %s" for name in values]
        sql = (
            f"UPDATE {self.table} c SET {', '.join([*sets, 'revision = revision + 1'])}"  # noqa: S608 -- only our own table and column names
            f" WHERE {self._is_one} RETURNING {self._row}"
        )
        rows = self._select(sql, [*deltas.values(), *values.values(), *self._one(id_)])
        return rows[0] if rows else None

    def locked(self, id_: int) -> Row | None:
        """The row of an id, locked until the transaction ends; None if there is no row."""
        sql = f"SELECT {self._row} FROM {self.table} c WHERE {self._is_one} FOR UPDATE"  # noqa: S608 -- only our own table and column names
        rows = self._select(sql, self._one(id_))
        return rows[0] if rows else None

    def revise(self, id_: int, revision: int) -> Row:
        """Set the revision of an existing row."""
        sql = f"UPDATE {self.table} c SET revision = %s WHERE {self._is_one} RETURNING {self._row}"  # noqa: S608 -- only our own table and column names
        return self._select(sql, [revision, *self._one(id_)])[0]

    def raise_to(self, field: str, values: Mapping[int, int]) -> int:
        """Raise counts to `values`, never lower them; returns how many rows changed. Revisions do not change."""
        return self._update(field, "%s", f"c.{field} < %s", values)

    def add_to(self, field: str, deltas: Mapping[int, int]) -> None:
        """Add to the count of each id; a negative delta stops at zero. Revisions do not change."""
        self._update(field, f"greatest(c.{field} + %s, 0)", "%s IS NOT NULL", deltas)

    def lost(self) -> None:
        """Enqueue a rebuild of lost counters, at most every 5 seconds in each process; Celery beat enqueues it too."""
        if monotonic() - _enqueued_at.get(self.rebuild, -ENQUEUE_SECONDS) >= ENQUEUE_SECONDS:
            _enqueued_at[self.rebuild] = monotonic()
            enqueue(self.rebuild)

    def _update(self, field: str, value: str, where: str, values: Mapping[int, int]) -> int:
        """Update each row with its own statement, because rows may be on several servers; send all in one round trip.

        Rows are updated in the order of their ids, as in every write of several rows, to avoid deadlocks.
        """
        sql = f"UPDATE {self.table} c SET {field} = {value} WHERE {self._is_one} AND {where} RETURNING 1"  # noqa: S608 -- only our own table and column names
        args = [
            arg for id_, value in sorted(values.items()) for arg in (value, *self._one(id_), value)
        ]
        if not values:
            return 0
        return sum(map(len, rows_of_each("; ".join([sql] * len(values)), args)))

    def _select(self, sql: str, args: list[Any]) -> list[Row]:
        with connection.cursor() as cursor:
            cursor.execute(sql, args)
            return [Row(row[0], row[2:], row[1]) for row in cursor.fetchall()]

    @property
    def table(self) -> str:
        return self.model._meta.db_table

    @cached_property
    def key(self) -> str:
        """The name of the id column."""
        key: models.Field[Any, Any] = self.model._meta.pk
        return str(key.column)

    @cached_property
    def author(self) -> str:
        """The name of the author column, if the ids are post ids; otherwise ""."""
        return getattr(self.model._meta.pk, "author_column", "")

    @cached_property
    def _is_one(self) -> str:
        """The SQL condition that selects one row; its parameters come from `_one`."""
        is_author = f" AND c.{self.author} = %s" if self.author else ""
        return f"c.{self.key} = %s{is_author}"

    def _one(self, id_: int) -> list[int]:
        return [id_, author_of(id_)] if self.author else [id_]

    @cached_property
    def _row(self) -> str:
        return ", ".join(f"c.{name}" for name in (self.key, "revision", *self.columns))

    @cached_property
    def _counted(self) -> str:
        return " OR ".join(f"c.{name} > 0" for name in ("revision", *self.columns))


@dataclass(frozen=True, eq=False)
class TableCounts(CounterService):
    """A CounterService over a `CountsTable`."""

    source: CountsTable

    def change(self, id_: int, deltas: Mapping[str, int], **values: Any) -> None:
        """Add to the counts of a row and set other columns, in the caller's transaction."""
        row = self.source.change(id_, deltas, **values)
        if row is not None:
            put_after_commit(self, [row])


def put_after_commit(service: CounterService, rows: Collection[Row]) -> None:
    """Put rows into Redis after the commit of the transaction that changed them."""
    if rows:
        transaction.on_commit(partial(put_or_record, service, rows))


def put_or_record(service: CounterService, rows: Collection[Row]) -> None:
    """Put committed rows into Redis; if it is down, record an event that puts them later."""
    try:
        service.put_many(rows)
    except RedisError as error:
        _record_missed(service, rows, error)


def put_writes(service: CounterService, row: Row) -> QueueWrites:
    """Like `put_or_record` for one row, but returns writes that can be sent together with others."""

    def queue(batch: Batch) -> Callable[[], None]:
        queued = [batch.commands(client, [call]) for client, call in service.put_calls(row)]

        def check() -> None:
            try:
                for each in queued:
                    each.raise_error()
            except RedisError as error:
                _record_missed(service, [row], error)

        return check

    return queue


def _record_missed(service: CounterService, rows: Collection[Row], error: RedisError) -> None:
    logger.warning("counts of %s not in Redis yet; an event will retry: %s", service.name, error)
    with transaction.atomic():
        record("counts_missed", kind=service.name, ids=[row.id for row in rows])


def rebuild_after_commit(service: CounterService) -> None:
    """Rebuild the store after a bulk load; until then counts come from PostgreSQL."""
    transaction.on_commit(partial(_invalidate, service))


def _invalidate(service: CounterService) -> None:
    try:
        invalidate(service.store)
    except RedisError as error:
        logger.warning(
            "counts of %s are old until the next reconciliation: %s", service.name, error
        )
    else:
        service.source.lost()


def put_missed(service: CounterService, kind: str, ids: Collection[int]) -> None:
    """Put the current rows for a `counts_missed` event into Redis, unless its kind belongs to another service."""
    if kind == service.name:
        service.put_many(service.source.rows(ids).values())
