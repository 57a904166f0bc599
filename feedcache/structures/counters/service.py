"""Counts of ids, whatever state the store is in: from Redis in one round trip, else from PostgreSQL in one query.

While the store is complete, a missing record means zero, without a query. While it is not, and when Redis does not
answer, PostgreSQL is ids_by_store: there are no wrong zeros. The whole bucket of a cold id is loaded once and stays for a while.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import time
from typing import NamedTuple, Protocol, cast

from feedcache.batch import Batch, Future
from feedcache.redis_servers.clients import evalsha
from feedcache.redis_servers.connections import RedisError, counters
from feedcache.structures.counters.buckets import begin_load, end_load
from feedcache.structures.counters.building import expect_build
from feedcache.structures.counters.layout import Span
from feedcache.structures.counters.schema import MAX_IN_RECORD, Row
from feedcache.structures.counters.store import (
    COLD,
    Cold,
    CounterStore,
    Found,
    Values,
    read_stores,
)

logger = logging.getLogger(__name__)

MAX_LOADED = 50  # cold buckets per read; the counts of further ones come from PostgreSQL
MAX_TRIES = 4  # of a count: the store may be lost, then lack a base, or a bucket that expires again


class LoadedBuckets(NamedTuple):
    """The rows of the cold buckets that a call loaded, by bucket."""

    rows: dict[int, list[Row]]


class Source(Protocol):
    """The rows of counts in PostgreSQL. A missing row is zeros."""

    def rows(self, ids: Collection[int]) -> dict[int, Row]:
        """In one query."""

    def rows_in(self, spans: Sequence[Span]) -> list[Row]:
        """The rows in spans that were ever counted, in one query."""

    def rows_after(self, id_: int, *, limit: int) -> list[Row]:
        """The next rows above an id that were ever counted, in the order of ids."""

    def ends(self) -> tuple[int, int]:
        """The lowest and the highest id; zeros when there is none."""

    def raise_to(self, field: str, values: Mapping[int, int]) -> int:
        """Raise a counted field of ids to values, never lower it; how many rows changed."""

    def add_to(self, field: str, deltas: Mapping[int, int]) -> None:
        """Count a counted field of ids in PostgreSQL, while Redis is away."""

    def lost(self) -> None:
        """The store is not complete: schedule a rebuild."""


@dataclass(frozen=True, eq=False)
class CounterService:
    """The counts of one kind of id. `hot_seconds`: how far back buckets stay in Redis; None: all of them do."""

    store: CounterStore
    source: Source
    hot_seconds: int | None = None

    @property
    def name(self) -> str:
        return self.store.schema.name

    @property
    def floor_now(self) -> int:
        """The bucket below which ids are cold by their age."""
        if self.hot_seconds is None:
            return 0
        return self.store.places.at(int(time()) - self.hot_seconds)

    def get_many(self, ids: Collection[int]) -> dict[int, Values]:
        """The counts of up to 1,000 ids; zeros for those that were never counted."""
        return get_in_batch({self: ids})[0]

    def queue(
        self, batch: Batch, ids: Collection[int], *, stage: str = ""
    ) -> Future[dict[int, Values]]:
        """Queue `get_many` in a batch."""
        if not ids:
            return dict
        request, order = self.store.request(ids)
        answers = batch.commands(counters(), [evalsha(*request)], stage=stage)

        def result() -> dict[int, Values]:
            try:
                found = self.store.answer(answers()[0], order)
            except RedisError:
                return self.settle(ids, None)
            if found is None:
                self.source.lost()
            return self.settle(ids, found)

        return result

    def put_many(self, rows: Iterable[Row]) -> None:
        """Put committed rows. Late, early and repeated puts do no harm. Raises RedisError."""
        self.store.put(rows)

    def count(self, field: str, deltas: Mapping[int, int]) -> dict[int, int]:
        """Count a counted field of up to 1,000 ids, exactly; their new values, if known.

        A count never falls below zero. Without Redis PostgreSQL counts.
        """
        index = self.store.schema.index(field)
        if index not in self.store.schema.counted:
            raise ValueError(f"{field} is PostgreSQL's to count")
        if any(abs(delta) > MAX_IN_RECORD for delta in deltas.values()):
            raise ValueError(f"at most {MAX_IN_RECORD} at once")
        counted: dict[int, int] = {}
        try:
            self._count(index, deltas, counted)
        except RedisError as error:
            logger.warning("%s counted by PostgreSQL: %s", field, error)
        left = {id_: delta for id_, delta in deltas.items() if id_ not in counted}
        if left:
            self.source.add_to(field, left)
        return counted

    def _count(self, field: int, deltas: Mapping[int, int], counted: dict[int, int]) -> None:
        """Count until Redis lacks nothing: the base of an id during a rebuild, the bucket of a cold one."""
        left, bases = dict(deltas), dict[int, Row]()
        for _try in range(MAX_TRIES):
            if not left:
                return
            answers = self.store.add(field, left, bases)
            if not answers:
                expect_build(self.store, self.floor_now)
                self.source.lost()
            for id_, answer in answers.items():
                if answer not in {"base", "cold"}:
                    counted[id_] = self._value_of(id_, answer)
                    del left[id_]
            bases = self._bases([id_ for id_ in left if answers.get(id_) == "base"])
            self.load_buckets(
                {self.store.places.place(id_)[0] for id_ in left if answers.get(id_) == "cold"}
            )

    def _value_of(self, id_: int, answer: int | str) -> int:
        if isinstance(answer, int):
            return answer
        logger.warning("a count of %s %s stopped at zero", self.name, id_)
        return 0

    def _bases(self, ids: Sequence[int]) -> dict[int, Row]:
        zeros = {id_: Row(id_, self.store.schema.zeros, 0) for id_ in ids}
        return zeros | self.source.rows(ids) if ids else zeros

    def load_buckets(self, buckets: Collection[int]) -> LoadedBuckets:
        """Load cold buckets in one query, except those that another process is loading; their rows."""
        loads = begin_load(self.store, buckets) if buckets else []
        loaded = LoadedBuckets({load.bucket: [] for load in loads})
        if loads:
            spans = [self.store.places.span(load.bucket) for load in loads]
            for row in self.source.rows_in(spans):
                loaded.rows[self.store.places.place(row.id)[0]].append(row)
        for load in loads:
            end_load(self.store, load, loaded.rows[load.bucket])
        return loaded

    def settle(self, ids: Collection[int], found: Mapping[int, Found] | None) -> dict[int, Values]:
        """Complete the counts that Redis returned; None: Redis is away, or its store incomplete."""
        if found is None:
            return self._from_source(ids)
        if COLD not in found.values():  # the usual case
            return cast("dict[int, Values]", dict(found))
        values = {id_: value for id_, value in found.items() if not isinstance(value, Cold)}
        if len(values) < len(found):
            values |= self._load_cold([id_ for id_ in found if id_ not in values])
        return values

    def _load_cold(self, cold: Collection[int]) -> dict[int, Values]:
        places = {id_: self.store.places.place(id_)[0] for id_ in cold}
        try:
            loaded = self.load_buckets(sorted(set(places.values()), reverse=True)[:MAX_LOADED])
        except RedisError:
            return self._from_source(cold)
        rows = {row.id: row.values for bucket in loaded.rows.values() for row in bucket}
        zeros = self.store.schema.zeros
        values = {id_: rows.get(id_, zeros) for id_ in cold if places[id_] in loaded.rows}
        return values | self._from_source([id_ for id_ in cold if id_ not in values])

    def _from_source(self, ids: Collection[int]) -> dict[int, Values]:
        rows, zeros = self.source.rows(ids) if ids else {}, self.store.schema.zeros
        return {id_: rows[id_].values if id_ in rows else zeros for id_ in ids}


def get_in_batch(
    ids_by_service: Mapping[CounterService, Collection[int]],
) -> list[dict[int, Values]]:
    """The counts of several services in one round trip: a page's posts and its people."""
    ids_by_store = {service.store: ids for service, ids in ids_by_service.items() if ids}
    try:
        found = (
            dict(zip(ids_by_store, read_stores(ids_by_store), strict=True)) if ids_by_store else {}
        )
    except RedisError:
        found = {}
    else:
        for service in ids_by_service:
            if service.store in found and found[service.store] is None:
                service.source.lost()
    return [
        service.settle(ids, found.get(service.store)) for service, ids in ids_by_service.items()
    ]
