"""A table of counts as the source of a CounterService; committed changes are put into Redis afterwards.

The statement that changes the counts of a row also raises its revision, so puts may come late, twice, or in any order.
It is SQL with RETURNING, which the ORM lacks, so that the new values are those of the change itself.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from time import monotonic
from typing import Any

from django.db import OperationalError, connection, models, transaction

from apps import shards
from apps.events.actions import enqueue, record
from feedcache.connections import RedisError
from feedcache.read_through import Batch, QueueWrites
from feedcache.structures.counters.buckets import Span
from feedcache.structures.counters.maintenance import invalidate
from feedcache.structures.counters.records import Row, Values
from feedcache.structures.counters.service import CounterService
from feedcache.structures.counters.store import Found

logger = logging.getLogger(__name__)

ENQUEUE_SECONDS = 5.0  # between two rebuilds that one process enqueues

_enqueued_at: dict[str, float] = {}


@dataclass(frozen=True)
class CountsTable:
    """A model with a column per count, and `revision`. The task `rebuild` rebuilds the store."""

    model: type[models.Model]
    columns: tuple[str, ...]
    rebuild: str
    of_posts: bool = False  # counts of posts, whose rows may be on other servers

    def lock(self, ids: Collection[int]) -> None:
        """Lock counts that a transaction will change, before it reads rows from other servers (`apps.shards`)."""
        if self.of_posts:
            shards.lock(ids)

    def rows(self, ids: Collection[int]) -> dict[int, Row]:
        sql = f"SELECT {self._row} FROM {self.table} c WHERE c.{self.key} = ANY(%s)"  # noqa: S608 -- names of ours
        return {row.id: row for row in self._select(sql, [list(ids)])}

    def rows_in(self, spans: Sequence[Span]) -> list[Row]:
        """The rows within spans of ids, without those that were never counted."""
        sql = (
            f"SELECT {self._row} FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])"  # noqa: S608 -- names of ours
            f" AS s(low, high, mask, value) JOIN {self.table} c"
            f" ON c.{self.key} BETWEEN s.low AND s.high AND c.{self.key} & s.mask = s.value"
            f" WHERE {self._counted}"
        )
        return self._select(sql, [list(part) for part in zip(*spans, strict=True)])

    def rows_after(self, id_: int, *, limit: int) -> list[Row]:
        """The next rows above an id, without those that were never counted."""
        sql = (
            f"SELECT {self._row} FROM {self.table} c WHERE c.{self.key} > %s AND ({self._counted})"  # noqa: S608 -- names of ours
            f" ORDER BY c.{self.key} LIMIT %s"
        )
        return self._select(sql, [id_, limit])

    def all_rows_after(self, id_: int, *, limit: int) -> list[Row]:
        """The next rows above an id, including those that were never counted."""
        sql = f"SELECT {self._row} FROM {self.table} c WHERE c.{self.key} > %s ORDER BY 1 LIMIT %s"  # noqa: S608 -- names of ours
        return self._select(sql, [id_, limit])

    def ends(self) -> tuple[int, int]:
        """The lowest and the highest id."""
        ends = self.model._default_manager.aggregate(models.Min("pk"), models.Max("pk"))
        return ends["pk__min"] or 0, ends["pk__max"] or 0

    def change(self, id_: int, deltas: Mapping[str, int], **values: Any) -> Row | None:
        """Add to counts, set other columns, and raise the revision. Returns the new row; None if there is no row."""
        self.lock([id_])
        sets = [f"{name} = {name} + %s" for name in deltas] + [f"{name} = %s" for name in values]
        sql = (
            f"UPDATE {self.table} c SET {', '.join([*sets, 'revision = revision + 1'])}"  # noqa: S608 -- names of ours
            f" WHERE c.{self.key} = %s RETURNING {self._row}"
        )
        rows = self._select(sql, [*deltas.values(), *values.values(), id_])
        return rows[0] if rows else None

    def locked(self, id_: int) -> Row | None:
        """The row of an id, locked until the transaction ends."""
        self.lock([id_])
        sql = f"SELECT {self._row} FROM {self.table} c WHERE c.{self.key} = %s FOR UPDATE"  # noqa: S608 -- names of ours
        rows = self._select(sql, [id_])
        return rows[0] if rows else None

    def revise(self, id_: int, revision: int) -> Row:
        """Set the revision of an existing row."""
        self.lock([id_])
        sql = (
            f"UPDATE {self.table} c SET revision = %s WHERE c.{self.key} = %s RETURNING {self._row}"  # noqa: S608 -- names of ours
        )
        return self._select(sql, [revision, id_])[0]

    def raise_to(self, field: str, values: Mapping[int, int]) -> int:
        """Raise a count, never lower it; returns the number of changed rows. The revision stays."""
        return self._update(field, f"greatest(c.{field}, v.value)", f"c.{field} < v.value", values)

    def add_to(self, field: str, deltas: Mapping[int, int]) -> None:
        """Add to a count of ids, not below zero. The revision stays."""
        self._update(field, f"greatest(c.{field} + v.value, 0)", "true", deltas)

    def lost(self) -> None:
        """Enqueue the rebuild, at most every 5 seconds; beat runs it as well."""
        if monotonic() - _enqueued_at.get(self.rebuild, -ENQUEUE_SECONDS) >= ENQUEUE_SECONDS:
            _enqueued_at[self.rebuild] = monotonic()
            enqueue(self.rebuild)

    def _update(self, field: str, value: str, where: str, values: Mapping[int, int]) -> int:
        # in the order of ids, like every write of several rows, to avoid deadlocks; shards are chosen by the array
        sql = f"""
            WITH v AS (SELECT * FROM unnest(%(ids)s::bigint[], %(values)s::bigint[]) AS v(id, value)),
            locked AS (
                SELECT c.{self.key} FROM {self.table} c JOIN v ON c.{self.key} = v.id
                WHERE {where} AND c.{self.key} = ANY(%(ids)s::bigint[])
                ORDER BY c.{self.key} FOR UPDATE OF c
            )
            UPDATE {self.table} c SET {field} = {value} FROM v JOIN locked ON locked.{self.key} = v.id
            WHERE c.{self.key} = v.id AND c.{self.key} = ANY(%(ids)s::bigint[])
        """  # noqa: S608 -- names of ours
        with transaction.atomic():
            self.lock(values)
            with connection.cursor() as cursor:
                cursor.execute(sql, {"ids": list(values), "values": list(values.values())})
                changed: int = cursor.rowcount
                return changed

    def _select(self, sql: str, args: list[Any]) -> list[Row]:
        with connection.cursor() as cursor:
            cursor.execute(sql, args)
            return [Row(row[0], row[2:], row[1]) for row in cursor.fetchall()]

    @property
    def table(self) -> str:
        return self.model._meta.db_table

    @cached_property
    def key(self) -> str:
        """The column of the ids."""
        key: models.Field[Any, Any] = self.model._meta.pk
        return str(key.column)

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

    def complete(
        self, ids: Collection[int], found: Mapping[int, Found] | None
    ) -> dict[int, Values]:
        """Like `CounterService.complete`; while a server of posts is down, zeros for its posts, which no page shows."""
        try:
            return super().complete(ids, found)
        except OperationalError as error:
            if not self.source.of_posts:
                raise
            return shards.partly(partial(self._of_reachable, ids), error)

    def _of_reachable(self, ids: Collection[int]) -> dict[int, Values]:
        rows = self.source.rows(shards.reachable_ids(ids))
        return {id_: rows[id_].values if id_ in rows else self.store.schema.zeros for id_ in ids}


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
    """`put_or_record` for one row, as writes to send together with others."""

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
    logger.warning("could not put counts of %s, an event will: %s", service.name, error)
    with transaction.atomic():
        record("counts_missed", kind=service.name, ids=[row.id for row in rows])


def rebuild_after_commit(service: CounterService) -> None:
    """Rebuild the store after a bulk load; until then counts come from PostgreSQL."""
    transaction.on_commit(partial(_invalidate, service))


def _invalidate(service: CounterService) -> None:
    try:
        invalidate(service.store)
    except RedisError as error:
        logger.warning("counts of %s stay until the next reconciliation: %s", service.name, error)
    else:
        service.source.lost()


def put_missed(service: CounterService, kind: str, ids: Collection[int]) -> None:
    """Put the current rows of an event, unless they belong to another service."""
    if kind == service.name:
        service.put_many(service.source.rows(ids).values())
