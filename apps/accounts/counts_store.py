"""A table of counts as the truth behind a CounterService; what was committed there is put into Redis afterwards.

The revision of a row grows in the statement that changes its counts, so that puts may come late, twice, or in any
order. Written out, and with RETURNING, which the ORM lacks: the new values are those of the change itself.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from time import monotonic
from typing import Any

from django.db import connection, models, transaction

from apps.events.actions import enqueue, record
from feedcache.redis_servers.connections import RedisError
from feedcache.structures.counters.building import invalidate
from feedcache.structures.counters.layout import Span
from feedcache.structures.counters.schema import Row
from feedcache.structures.counters.service import CounterService

logger = logging.getLogger(__name__)

ENQUEUE_SECONDS = 5.0  # between two rings of one process that its store was lost

_rung: dict[str, float] = {}


@dataclass(frozen=True)
class CountsTable:
    """The rows of a model with one column per count, and `revision`. `rebuild` names the task that tends the store."""

    model: type[models.Model]
    columns: tuple[str, ...]
    rebuild: str

    def rows(self, ids: Collection[int]) -> dict[int, Row]:
        """The rows of ids."""
        sql = f"SELECT {self._row} FROM {self.table} c WHERE c.{self.key} = ANY(%s)"  # noqa: S608 -- names of ours
        return {row.id: row for row in self._select(sql, [list(ids)])}

    def rows_in(self, spans: Sequence[Span]) -> list[Row]:
        """The rows in spans of ids that were ever counted."""
        sql = (
            f"SELECT {self._row} FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])"  # noqa: S608 -- names of ours
            f" AS s(low, high, mask, value) JOIN {self.table} c"
            f" ON c.{self.key} BETWEEN s.low AND s.high AND c.{self.key} & s.mask = s.value"
            f" WHERE {self._counted}"
        )
        return self._select(sql, [list(part) for part in zip(*spans, strict=True)])

    def rows_after(self, id_: int, *, limit: int) -> list[Row]:
        """The next rows above an id that were ever counted."""
        sql = (
            f"SELECT {self._row} FROM {self.table} c WHERE c.{self.key} > %s AND ({self._counted})"  # noqa: S608 -- names of ours
            f" ORDER BY c.{self.key} LIMIT %s"
        )
        return self._select(sql, [id_, limit])

    def all_rows_after(self, id_: int, *, limit: int) -> list[Row]:
        """The next rows above an id, those that were never counted among them."""
        sql = f"SELECT {self._row} FROM {self.table} c WHERE c.{self.key} > %s ORDER BY 1 LIMIT %s"  # noqa: S608 -- names of ours
        return self._select(sql, [id_, limit])

    def ends(self) -> tuple[int, int]:
        """The lowest and the highest id."""
        ends = self.model._default_manager.aggregate(models.Min("pk"), models.Max("pk"))  # noqa: SLF001 -- Django's documented name
        return ends["pk__min"] or 0, ends["pk__max"] or 0

    def change(self, id_: int, deltas: Mapping[str, int], **values: Any) -> Row | None:
        """Add to counts, set other columns, and raise the revision; the row as it is then, None when there is none."""
        sets = [f"{name} = {name} + %s" for name in deltas] + [f"{name} = %s" for name in values]
        sql = (
            f"UPDATE {self.table} c SET {', '.join([*sets, 'revision = revision + 1'])}"  # noqa: S608 -- names of ours
            f" WHERE c.{self.key} = %s RETURNING {self._row}"
        )
        rows = self._select(sql, [*deltas.values(), *values.values(), id_])
        return rows[0] if rows else None

    def locked(self, id_: int) -> Row | None:
        """The row of an id, locked until the transaction ends."""
        sql = f"SELECT {self._row} FROM {self.table} c WHERE c.{self.key} = %s FOR UPDATE"  # noqa: S608 -- names of ours
        rows = self._select(sql, [id_])
        return rows[0] if rows else None

    def revise(self, id_: int, revision: int) -> Row:
        """Give the row of an id another revision; it must be there."""
        sql = (
            f"UPDATE {self.table} c SET revision = %s WHERE c.{self.key} = %s RETURNING {self._row}"  # noqa: S608 -- names of ours
        )
        return self._select(sql, [revision, id_])[0]

    def raise_to(self, field: str, values: Mapping[int, int]) -> int:
        """Raise a count of ids to values, never lower it; how many rows changed. The revision is not its affair."""
        return self._update(field, f"greatest(c.{field}, v.value)", f"c.{field} < v.value", values)

    def add_to(self, field: str, deltas: Mapping[int, int]) -> None:
        """Add to a count of ids, not below zero."""
        self._update(field, f"greatest(c.{field} + v.value, 0)", "true", deltas)

    def lost(self) -> None:
        """Ring for the task that rebuilds, now and then: it looks by itself as well."""
        if monotonic() - _rung.get(self.rebuild, -ENQUEUE_SECONDS) >= ENQUEUE_SECONDS:
            _rung[self.rebuild] = monotonic()
            enqueue(self.rebuild)

    def _update(self, field: str, value: str, where: str, values: Mapping[int, int]) -> int:
        # in the order of ids, as everybody who writes several of these rows
        sql = f"""
            WITH v AS (SELECT * FROM unnest(%s::bigint[], %s::bigint[]) AS v(id, value)),
            locked AS (
                SELECT c.{self.key} FROM {self.table} c JOIN v ON c.{self.key} = v.id WHERE {where}
                ORDER BY c.{self.key} FOR UPDATE OF c
            )
            UPDATE {self.table} c SET {field} = {value} FROM v JOIN locked ON locked.{self.key} = v.id
            WHERE c.{self.key} = v.id
        """  # noqa: S608 -- names of ours
        with connection.cursor() as cursor:
            cursor.execute(sql, [list(values), list(values.values())])
            changed: int = cursor.rowcount
            return changed

    def _select(self, sql: str, args: list[Any]) -> list[Row]:
        with connection.cursor() as cursor:
            cursor.execute(sql, args)
            return [Row(row[0], row[2:], row[1]) for row in cursor.fetchall()]

    @property
    def table(self) -> str:
        """The name of the table."""
        return self.model._meta.db_table  # noqa: SLF001 -- Django's documented name

    @cached_property
    def key(self) -> str:
        """The column of the ids."""
        key: models.Field[Any, Any] = self.model._meta.pk  # noqa: SLF001 -- Django's documented name
        return str(key.column)

    @cached_property
    def _row(self) -> str:
        return ", ".join(f"c.{name}" for name in (self.key, "revision", *self.columns))

    @cached_property
    def _counted(self) -> str:
        return " OR ".join(f"c.{name} > 0" for name in ("revision", *self.columns))


def put_after_commit(service: CounterService, rows: Collection[Row]) -> None:
    """Put rows into Redis once the transaction that changed them is committed."""
    if rows:
        transaction.on_commit(partial(put_or_record, service, rows))


def put_or_record(service: CounterService, rows: Collection[Row]) -> None:
    """Put committed rows into Redis; when it does not answer, an event sees to it that they get there."""
    try:
        service.put_many(rows)
    except RedisError as error:
        logger.warning("counts of %s are put later: %s", service.name, error)
        with transaction.atomic():
            record("counts_missed", kind=service.name, ids=[row.id for row in rows])


def rebuild_after_commit(service: CounterService) -> None:
    """For loaders that change more rows than are worth naming: counts come from PostgreSQL until all are put again."""
    transaction.on_commit(partial(_invalidate, service))


def _invalidate(service: CounterService) -> None:
    try:
        invalidate(service.store)
    except RedisError as error:
        logger.warning("counts of %s are left to the reconciliation: %s", service.name, error)
    else:
        service.source.lost()


def put_missed(service: CounterService, kind: str, ids: Collection[int]) -> None:
    """Put the rows that an event names, as they are now, unless they are another service's."""
    if kind == service.name:
        service.put_many(service.source.rows(ids).values())
