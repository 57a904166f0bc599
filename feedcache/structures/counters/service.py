"""Counts of ids, whatever state the store is in: from Redis in one round trip, else from PostgreSQL in one query.

A record that is missing means zero, and asks nobody, while the store is whole. While it is not, and when Redis does
not answer, PostgreSQL is asked: there are no wrong zeros. A cold id's whole bucket is loaded once and kept a while.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import time
from typing import NamedTuple, Protocol, cast

from feedcache.batch import Batch, Later
from feedcache.redis_servers.clients import call
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
    merge_windows,
)

logger = logging.getLogger(__name__)

MAX_LOADED = 50  # cold buckets that one read loads; ids of others are answered all the same
MAX_TRIES = (
    4  # of a count: the store may be lost, then lack a base; or lack a bucket, which may go again
)


class LoadedBucket(NamedTuple):
    """The rows of the cold buckets that a call loaded, by bucket."""

    rows: dict[int, list[Row]]


class Source(Protocol):
    """The truth behind a service: rows of counts in PostgreSQL. A row that is missing is zeros."""

    def rows(self, ids: Collection[int]) -> dict[int, Row]:
        """The rows of ids, in one query."""

    def rows_in(self, spans: Sequence[Span]) -> list[Row]:
        """The rows in spans that were ever counted, in one query."""

    def rows_after(self, id_: int, *, limit: int) -> list[Row]:
        """The next rows above an id that were ever counted, in the order of ids."""

    def ends(self) -> tuple[int, int]:
        """The lowest and the highest id there is; zeros when there is none."""

    def raise_to(self, field: str, values: Mapping[int, int]) -> int:
        """Raise a counted field of ids to values, never lower it; how many rows changed."""

    def add_to(self, field: str, deltas: Mapping[int, int]) -> None:
        """Count a counted field of ids, while Redis is not there to do it."""

    def lost(self) -> None:
        """The store is not whole: see to it that somebody rebuilds it."""


@dataclass(frozen=True, eq=False)
class CounterService:
    """The counts of one kind of id."""

    store: CounterStore
    source: Source
    hot_seconds: int | None = None  # how far back buckets stay in Redis; None: all of them do

    @property
    def name(self) -> str:
        """What is counted."""
        return self.store.schema.name

    @property
    def floor_now(self) -> int:
        """The bucket below which ids are cold by their age."""
        if self.hot_seconds is None:
            return 0
        return self.store.places.at(int(time()) - self.hot_seconds)

    def get_many(self, ids: Collection[int]) -> dict[int, Values]:
        """The counts of up to 1,000 ids, all of them; zeros for those that were never counted."""
        return get_in_batch({self: ids})[0]

    def ask(
        self, trip: Batch, ids: Collection[int], *, stage: str = ""
    ) -> Later[dict[int, Values]]:
        """The same as a part of a trip."""
        if not ids:
            return dict
        request, order = self.store.request(ids)
        answers = trip.answers(counters(), [call(*request)], stage=stage)

        def settled() -> dict[int, Values]:
            try:
                found = self.store.answer(answers()[0], order)
            except RedisError:
                return self.settle(ids, None)
            if found is None:
                self.source.lost()
            return self.settle(ids, found)

        return settled

    def put_many(self, rows: Iterable[Row]) -> None:
        """Put rows that are committed. Late, early and repeated puts do no harm; RedisError is the caller's."""
        self.store.put(rows)

    def count(self, field: str, deltas: Mapping[int, int]) -> dict[int, int]:
        """Count a counted field of up to 1,000 ids, exactly; their new values, as far as they are known.

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
        """Count until Redis lacks nothing: the base of an id while it rebuilds, the bucket of a cold one."""
        left, bases = dict(deltas), dict[int, Row]()
        for _try in range(MAX_TRIES):
            if not left:
                return
            said = self.store.add(field, left, bases)
            if not said:
                expect_build(self.store, self.floor_now)
                self.source.lost()
            for id_, answer in said.items():
                if answer not in {"base", "cold"}:
                    counted[id_] = self._settled(id_, answer)
                    del left[id_]
            bases = self._bases([id_ for id_ in left if said.get(id_) == "base"])
            self.load_bucket(
                {self.store.places.place(id_)[0] for id_ in left if said.get(id_) == "cold"}
            )

    def _settled(self, id_: int, answer: int | str) -> int:
        if isinstance(answer, int):
            return answer
        logger.warning("a count of %s %s stopped at zero", self.name, id_)
        return 0

    def _bases(self, ids: Sequence[int]) -> dict[int, Row]:
        zeros = {id_: Row(id_, self.store.schema.zeros, 0) for id_ in ids}
        return zeros | self.source.rows(ids) if ids else zeros

    def load_bucket(self, buckets: Collection[int]) -> LoadedBucket:
        """Load cold buckets in one query, those that nobody else is loading; what is in them."""
        mine = begin_load(self.store, buckets) if buckets else []
        heated = LoadedBucket({turn.bucket: [] for turn in mine})
        if mine:
            spans = [self.store.places.span(turn.bucket) for turn in mine]
            for row in self.source.rows_in(spans):
                heated.rows[self.store.places.place(row.id)[0]].append(row)
        for turn in mine:
            end_load(self.store, turn, heated.rows[turn.bucket])
        return heated

    def settle(self, ids: Collection[int], found: Mapping[int, Found] | None) -> dict[int, Values]:
        """The counts of ids after what Redis found; None: it is not there, or cannot be trusted."""
        if found is None:
            return self._from_source(ids)
        if COLD not in found.values():  # the usual case
            return cast("dict[int, Values]", dict(found))
        values = {id_: value for id_, value in found.items() if not isinstance(value, Cold)}
        if len(values) < len(found):
            values |= self._after_load([id_ for id_ in found if id_ not in values])
        return values

    def _after_load(self, cold: Collection[int]) -> dict[int, Values]:
        places = {id_: self.store.places.place(id_)[0] for id_ in cold}
        try:
            heated = self.load_bucket(sorted(set(places.values()), reverse=True)[:MAX_LOADED])
        except RedisError:
            return self._from_source(cold)
        rows = {row.id: row.values for bucket in heated.rows.values() for row in bucket}
        zeros = self.store.schema.zeros
        values = {id_: rows.get(id_, zeros) for id_ in cold if places[id_] in heated.rows}
        return values | self._from_source([id_ for id_ in cold if id_ not in values])

    def _from_source(self, ids: Collection[int]) -> dict[int, Values]:
        rows, zeros = self.source.rows(ids) if ids else {}, self.store.schema.zeros
        return {id_: rows[id_].values if id_ in rows else zeros for id_ in ids}


def get_in_batch(wanted: Mapping[CounterService, Collection[int]]) -> list[dict[int, Values]]:
    """The counts of several services in one round trip: a page's posts and its people."""
    asked = {service.store: ids for service, ids in wanted.items() if ids}
    try:
        found = dict(zip(asked, merge_windows(asked), strict=True)) if asked else {}
    except RedisError:
        found = {}
    else:
        for service in wanted:
            if service.store in found and found[service.store] is None:
                service.source.lost()
    return [service.settle(ids, found.get(service.store)) for service, ids in wanted.items()]
