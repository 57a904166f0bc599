"""CounterService: the counts of one kind of id, from Redis while its store is complete, otherwise from PostgreSQL.

Ids are grouped into buckets (the package's docstring has a picture). Recent buckets are *hot*: Redis has all their
counts, and while the store is complete, a missing record means zero, without a query. The first read of an id in an
older, *cold* bucket loads the whole bucket, which then stays in Redis for a while. While the store is incomplete, and
while Redis does not answer, the counts come from PostgreSQL, so there are no wrong zeros.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import sleep, time
from typing import Protocol, Self, cast

from feedcache.connections import Redis, RedisError, counter_ranges, counters, counters_at
from feedcache.read_through import Batch, Future
from feedcache.redis_clients import ScriptCall
from feedcache.structures.counters.buckets import Span
from feedcache.structures.counters.records import MAX_IN_RECORD, Row, Values
from feedcache.structures.counters.store import (
    ASK_SOURCE,
    AskSource,
    ClosedError,
    CounterStore,
    Found,
    begin_load,
    end_load,
    expect_build,
    read_stores,
)

logger = logging.getLogger(__name__)

# Cold buckets loaded per read; the counts of further ids are only read from PostgreSQL.
MAX_LOADED = 50
# Attempts of `count_part`, after which PostgreSQL counts. An attempt fails for an id if Redis lacks its row or its
# bucket, and for all ids if the store was lost.
MAX_TRIES = 4
CLOSED_TRIES, CLOSED_SECONDS = 40, 0.05  # while a part is handed over to another server


class Source(Protocol):
    """The rows with the counts in PostgreSQL. A missing row means zeros."""

    def rows(self, ids: Collection[int]) -> dict[int, Row]:
        """The rows of these ids, in one query."""

    def rows_in(self, spans: Sequence[Span]) -> list[Row]:
        """The rows in these spans, without those whose counts have never changed, in one query."""

    def rows_after(self, id_: int, *, limit: int) -> list[Row]:
        """The next rows after an id, in the order of ids, without those whose counts have never changed."""

    def ends(self) -> tuple[int, int]:
        """The lowest and the highest id; zeros if there are no ids."""

    def raise_to(self, field: str, values: Mapping[int, int]) -> int:
        """Raise a counted field (`records.Field`) to these values, never lower it; returns how many rows changed."""

    def add_to(self, field: str, deltas: Mapping[int, int]) -> None:
        """Add to a counted field of these ids in PostgreSQL, for increments that Redis did not take."""

    def lost(self) -> None:
        """Schedule a rebuild, because the store is incomplete."""


@dataclass(frozen=True, eq=False)
class CounterService:
    """The counts of one kind of id. Buckets are hot for at most `hot_seconds`; None: forever."""

    store: CounterStore
    source: Source
    hot_seconds: int | None = None

    @property
    def name(self) -> str:
        return self.store.schema.name

    @property
    def floor_now(self) -> int:
        """The first bucket that is young enough to be hot."""
        if self.hot_seconds is None:
            return 0
        return self.store.buckets.at(int(time()) - self.hot_seconds)

    def get_many(self, ids: Collection[int]) -> dict[int, Values]:
        """The counts of up to 1,000 ids; zeros for those that were never counted."""
        return get_in_batch({self: ids})[0]

    def put_many(self, rows: Iterable[Row]) -> None:
        """Copy committed rows to Redis. Calls may be repeated, and in any order. Raises RedisError."""
        rows = list(rows)
        for part, ids in self.store.by_part({row.id for row in rows}):
            wanted = set(ids)
            for store in part.servers():
                store.put([row for row in rows if row.id in wanted])

    def put_calls(self, row: Row) -> list[tuple[Redis, ScriptCall]]:
        """Like `put_many`, for one row: returns the servers and a command for each, which can be sent together with
        others.
        """
        [(part, _ids)] = self.store.by_part([row.id])
        return [(store.client, store.put_call([row])) for store in part.servers()]

    def parts(self) -> list[Self]:
        """One service for each part of the store."""
        return [self.with_store(part) for part in self.store.parts()]

    def with_store(self, store: CounterStore) -> Self:
        return self if store is self.store else replace(self, store=store)

    def count(self, field: str, deltas: Mapping[int, int]) -> dict[int, int]:
        """Add to a counted field (`records.Field`: incremented in Redis first) of up to 1,000 ids; returns new values.

        A count never falls below zero. If Redis cannot count an id, its row is changed, and the id is not returned.
        """
        index = self.store.schema.index(field)
        if index not in self.store.schema.counted:
            raise ValueError(f"{field} is counted in PostgreSQL")
        if any(abs(delta) > MAX_IN_RECORD for delta in deltas.values()):
            raise ValueError(f"at most {MAX_IN_RECORD} at once")
        counted: dict[int, int] = {}
        for part, ids in self.store.by_part(deltas):
            try:
                wanted = {id_: deltas[id_] for id_ in ids}
                self.with_store(part).count_part(index, wanted, counted)
            except (RedisError, ClosedError) as error:
                logger.warning("%s is counted in PostgreSQL: %r", field, error)
        left = {id_: delta for id_, delta in deltas.items() if id_ not in counted}
        if left:
            self.source.add_to(field, left)
        return counted

    def count_part(self, field: int, deltas: Mapping[int, int], counted: dict[int, int]) -> None:
        """Count in Redis, and add the new values to `counted`. Supplies the rows (as during a rebuild) and cold buckets
        that Redis lacks.
        """
        left, bases = dict(deltas), dict[int, Row]()
        for _try in range(MAX_TRIES):
            if not left:
                return
            store, answers = self._add(field, left, bases)
            if not answers:
                expect_build(store, self.floor_now)
                self.source.lost()
            for id_, answer in answers.items():
                if answer not in {"base", "cold"}:
                    counted[id_] = self._value_of(id_, answer)
                    del left[id_]
            bases = self._bases([id_ for id_ in left if answers.get(id_) == "base"])
            self.with_store(store).load_buckets(
                {self.store.bucket_of(id_) for id_ in left if answers.get(id_) == "cold"}
            )

    def _add(
        self, field: int, deltas: Mapping[int, int], bases: Mapping[int, Row]
    ) -> tuple[CounterStore, dict[int, int | str]]:
        """Call `add` on the server that accepts this part's increments. For a moment during a move, no server accepts
        them.
        """
        for _try in range(CLOSED_TRIES):
            for store in self.store.servers():
                with suppress(ClosedError):
                    return store, store.add(field, deltas, bases)
            sleep(CLOSED_SECONDS)
        raise ClosedError

    def _value_of(self, id_: int, answer: int | str) -> int:
        if isinstance(answer, int):
            return answer
        logger.warning("a count of %s %s would have fallen below zero", self.name, id_)
        return 0

    def _bases(self, ids: Sequence[int]) -> dict[int, Row]:
        zeros = {id_: Row(id_, self.store.schema.zeros, 0) for id_ in ids}
        return zeros | self.source.rows(ids) if ids else zeros

    def load_buckets(self, buckets: Collection[int]) -> dict[int, list[Row]]:
        """Load cold or lost buckets in one query, except those that others are loading; returns the rows by bucket."""
        loads = begin_load(self.store, buckets) if buckets else []
        loaded: dict[int, list[Row]] = {load.bucket: [] for load in loads}
        if loads:
            spans = [self.store.buckets.span(load.bucket) for load in loads]
            for row in self.source.rows_in(spans):
                loaded[self.store.bucket_of(row.id)].append(row)
        for load in loads:
            end_load(self.store, load, loaded[load.bucket])
        return loaded

    def settle(self, ids: Collection[int], found: Mapping[int, Found] | None) -> dict[int, Values]:
        """Add to `found` the counts that Redis did not have. `found` is None if Redis failed, or its counts are
        incomplete.
        """
        if found is not None and ASK_SOURCE not in found.values():  # the usual case
            return cast("dict[int, Values]", dict(found))
        return self.complete(ids, found)

    def complete(
        self, ids: Collection[int], found: Mapping[int, Found] | None
    ) -> dict[int, Values]:
        """Add the counts that `found` lacks, from the source."""
        if found is None:
            return self._from_source(ids)
        values = {id_: value for id_, value in found.items() if not isinstance(value, AskSource)}
        if len(values) < len(found):
            values |= self._load_cold([id_ for id_ in found if id_ not in values])
        return values

    def _load_cold(self, cold: Collection[int]) -> dict[int, Values]:
        buckets = {id_: self.store.bucket_of(id_) for id_ in cold}
        try:
            loaded = self.load_buckets(sorted(set(buckets.values()), reverse=True)[:MAX_LOADED])
        except RedisError:
            return self._from_source(cold)
        rows = {row.id: row.values for bucket in loaded.values() for row in bucket}
        zeros = self.store.schema.zeros
        values = {id_: rows.get(id_, zeros) for id_ in cold if buckets[id_] in loaded}
        return values | self._from_source([id_ for id_ in cold if id_ not in values])

    def _from_source(self, ids: Collection[int]) -> dict[int, Values]:
        rows, zeros = self.source.rows(ids) if ids else {}, self.store.schema.zeros
        return {id_: rows[id_].values if id_ in rows else zeros for id_ in ids}


def get_in_batch(
    ids_by_service: Mapping[CounterService, Collection[int]],
) -> list[dict[int, Values]]:
    """The counts from several services in one round trip, such as those of a page's posts and of its people."""
    if any(counter_ranges(service.name) for service in ids_by_service):
        batch = Batch()
        found = queue_in_batch(batch, ids_by_service)
        batch.execute()
        return found()
    ids_by_store = {service.store: ids for service, ids in ids_by_service.items() if ids}
    try:
        answers = read_stores(ids_by_store) if ids_by_store else []
    except RedisError:
        return _settled(ids_by_service, {})
    return _settled(ids_by_service, dict(zip(ids_by_store, answers, strict=True)))


def queue_in_batch(
    batch: Batch, ids_by_service: Mapping[CounterService, Collection[int]], *, stage: str = ""
) -> Future[list[dict[int, Values]]]:
    """Like `get_in_batch`, but queued in an existing batch."""
    if not any(counter_ranges(service.name) for service in ids_by_service):
        return _queue_at(counters(), batch, ids_by_service, stage)
    at: dict[str, dict[CounterService, Collection[int]]] = {}
    for service, ids in ids_by_service.items():
        for part, members in service.store.by_part(ids):
            at.setdefault(part.part.url, {})[service.with_store(part)] = members
    queued = [
        (services, _queue_at(counters_at(url), batch, services, stage))
        for url, services in at.items()
    ]

    def result() -> list[dict[int, Values]]:
        found: dict[str, dict[int, Values]] = {service.name: {} for service in ids_by_service}
        for services, future in queued:
            for service, values in zip(services, future(), strict=True):
                found[service.name] |= values
        return [found[service.name] for service in ids_by_service]

    return result


def _queue_at(
    client: Redis,
    batch: Batch,
    ids_by_service: Mapping[CounterService, Collection[int]],
    stage: str,
) -> Future[list[dict[int, Values]]]:
    """Queue the reads of services, or of parts of them, whose counts are all on one server."""
    requests = {
        service.store: service.store.request(ids) for service, ids in ids_by_service.items() if ids
    }
    queued = batch.commands(client, [call for call, _order in requests.values()], stages=[stage])

    def result() -> list[dict[int, Values]]:
        answers = [] if queued.has_failed else queued.answers
        found = {
            store: store.answer(answer, order)
            for (store, (_call, order)), answer in zip(requests.items(), answers, strict=False)
        }
        return _settled(ids_by_service, found)

    return result


def _settled(
    ids_by_service: Mapping[CounterService, Collection[int]],
    found: Mapping[CounterStore, dict[int, Found] | None],
) -> list[dict[int, Values]]:
    """The counts of services. A store that did not answer is missing in `found`; None means incomplete."""
    for service in ids_by_service:
        if service.store in found and found[service.store] is None:
            service.source.lost()
    return [
        service.settle(ids, found.get(service.store)) for service, ids in ids_by_service.items()
    ]
