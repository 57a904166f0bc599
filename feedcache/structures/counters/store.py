"""The records of one service in Redis. Does not know PostgreSQL. All methods raise RedisError.

Keys of one service share a hash tag, so a script about many buckets runs on one node of a Redis Cluster; a service
that outgrows a node is split by giving each part a tag of its own.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, cast

from feedcache.redis_servers.connections import ScriptCall, counters, run_script, run_scripts
from feedcache.structures.counters import scripts
from feedcache.structures.counters.layout import Place, Places
from feedcache.structures.counters.schema import Row, Schema, revision_of

logger = logging.getLogger(__name__)

MAX_IDS = 1000
MAX_CACHED_PLACES = 8192  # of 200 bytes
PUT_BATCH = 250  # records in one script: about a millisecond of Redis
LEASE_SECONDS = 60  # of a builder between two batches, and of the loader of a cold bucket
WHOLE = 2
UNREADABLE = -1  # the counts of garbage in comparisons

Values = tuple[int, ...]


class Cold:
    """For an id in a bucket that is cold and not loaded, or lost: ask PostgreSQL."""


COLD: Final = Cold()
Found = Values | Cold


class BucketLease(NamedTuple):
    """A builder's lease: everything is built from the bucket `floor` up to the id `cursor`."""

    token: str
    cursor: int | None
    floor: int


@dataclass(frozen=True)
class CounterStore:
    """The records of `schema`, divided into buckets by `places`. A cold bucket expires `cold_ttl_seconds` after its last read."""

    schema: Schema
    places: Places
    cold_ttl_seconds: int = 3600
    _cached_places: dict[int, Place] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def request(self, ids: Collection[int]) -> tuple[ScriptCall, list[int]]:
        """The script that reads up to 1,000 ids, and the order of its answers."""
        if len(ids) > MAX_IDS:
            raise ValueError(f"at most {MAX_IDS} ids a call, not {len(ids)}")
        buckets: dict[int, tuple[list[int], list[bytes]]] = {}
        places = self._cached_places
        for id_ in dict.fromkeys(ids):
            bucket, name = places.get(id_) or self._place(id_)
            if bucket in buckets:
                buckets[bucket][0].append(id_)
                buckets[bucket][1].append(name)
            else:
                buckets[bucket] = [id_], [name]
        order: list[int] = []
        args: list[Any] = [self.layout, self.cold_ttl_seconds, min(buckets, default=0)]
        for members, names in buckets.values():
            order += members
            args += [len(names), *names]
        return ScriptCall(scripts.READ, [self.meta_key, *map(self.key, buckets)], args), order

    def _place(self, id_: int) -> Place:
        """Cached: places never change, and a page computes many."""
        if len(self._cached_places) >= MAX_CACHED_PLACES:
            self._cached_places.clear()
        place = self._cached_places[id_] = self.places.place(id_)
        return place

    def answer(self, answers: list[Any], order: list[int]) -> dict[int, Found] | None:
        """Parse the answer to `request`; None while a missing record does not mean zero, and for garbage."""
        if answers[0] != WHOLE:
            return None
        try:
            zeros = self.schema.zeros
            values = [zeros if raw is None else self._value(raw) for raw in answers[1:]]
            return dict(zip(order, values, strict=True))
        except ValueError as error:
            logger.warning("counters of %s: %s", self.schema.name, error)
            return None

    def _value(self, raw: Any) -> Found:
        return COLD if raw == -1 else self._values(raw)

    def records(self, ids: Collection[int]) -> dict[int, Row | None]:
        """Rows as Redis has them, None without a record; cold ids are left out, and all ids while the store is incomplete."""
        request, order = self.request(ids)
        answers = run_script(counters(), request)
        return {
            id_: None if raw is None else self._row(id_, raw)
            for id_, raw in zip(order, answers[1:], strict=False)
            if raw != -1
        }

    def _row(self, id_: int, raw: bytes | list[bytes | None]) -> Row:
        record = raw if isinstance(raw, bytes) else cast("bytes", raw[0])
        try:
            return Row(id_, self._values(raw), revision_of(record))
        except ValueError:
            return Row(id_, (UNREADABLE,) * len(self.schema.fields), 0)

    def _values(self, raw: bytes | list[bytes | None]) -> Values:
        if isinstance(raw, bytes):
            return self.schema.unpack(raw)
        aux = {index: int(value) for index, value in enumerate(raw[1:]) if value is not None}
        return self.schema.unpack(cast("bytes", raw[0]), aux)

    def put(
        self, rows: Iterable[Row], *, lease: BucketLease | None = None, cursor: int | None = None
    ) -> bool:
        """Put rows of PostgreSQL; older revisions lose. With a lease: False when it was lost."""
        rows = list(rows)
        batches = [rows[at : at + PUT_BATCH] for at in range(0, len(rows), PUT_BATCH)] or [[]]
        for number, batch in enumerate(batches, start=1):
            reached = cursor if number == len(batches) else batch[-1].id
            if not self._put(batch, lease, reached) and lease:
                return False
        return True

    def _put(self, rows: Sequence[Row], lease: BucketLease | None, cursor: int | None) -> bool:
        indexes: dict[int, int] = {}
        records: list[Any] = []
        for row in rows:
            bucket, field = self.places.place(row.id)
            index = indexes.setdefault(bucket, len(indexes) + 1)
            records += [index, field, *self.packed(row)]
        reached = "" if cursor is None else cursor
        token = lease.token if lease else ""
        head = [self.limits, self.counted, token, LEASE_SECONDS, reached, len(indexes)]
        keys = [self.meta_key, *map(self.key, indexes)]
        return bool(self.run(scripts.PUT, keys, [*head, *indexes, *records]))

    def add(
        self, field: int, deltas: Mapping[int, int], bases: Mapping[int, Row] | None = None
    ) -> dict[int, int | str]:
        """Count a field of up to 1,000 ids; per id its new value, or "clamped", "base" or "cold" (see scripts.ADD).

        Empty when the store was lost.
        """
        if len(deltas) > MAX_IDS:
            raise ValueError(f"at most {MAX_IDS} ids a call, not {len(deltas)}")
        indexes: dict[int, int] = {}
        changes: list[Any] = []
        for id_, delta in deltas.items():
            bucket, name = self.places.place(id_)
            index = indexes.setdefault(bucket, len(indexes) + 1)
            base = self.packed(bases[id_]) if bases and id_ in bases else ("", "")
            changes += [index, name, delta, *base]
        keys = [self.meta_key, self.dirty_key, *map(self.key, indexes)]
        head = [self.limits, len(self.schema.fields), field + 1, len(indexes)]
        answers = self.run(scripts.ADD, keys, [*head, *indexes, *changes])
        return {
            id_: int(value) if value.isdigit() else value.decode()
            for id_, value in zip(deltas, answers, strict=False)
        }

    def packed(self, row: Row) -> tuple[bytes, str]:
        """A row for scripts: the record, and pairs of index (from 1) and value of its aux dict."""
        record, aux = self.schema.pack(row.values, row.revision)
        return record, ",".join(f"{index + 1}:{value}" for index, value in aux.items())

    def run(self, source: str, keys: list[str], args: list[Any]) -> Any:
        return run_script(counters(), ScriptCall(source, keys, args))

    def key(self, bucket: int) -> str:
        return f"{self._prefix}{bucket:x}"

    @cached_property
    def _prefix(self) -> str:
        return f"c{{{self.schema.name}}}:{self.places.name}:"

    @cached_property
    def meta_key(self) -> str:
        return f"{self._prefix}meta"

    @cached_property
    def dirty_key(self) -> str:
        return f"{self._prefix}dirty"

    @cached_property
    def places_key(self) -> str:
        return f"c{{{self.schema.name}}}:places"

    @cached_property
    def walk_key(self) -> str:
        return f"c{{{self.schema.name}}}:walk"

    @cached_property
    def layout(self) -> str:
        """The fields, so that a longer list of fields has this one as its prefix."""
        rules = f"{self.schema.rules}:" if self.schema.rules > 1 else ""
        return rules + "".join(f"{name}," for name in self.schema.names)

    @cached_property
    def limits(self) -> str:
        """The limits of the fields, for scripts."""
        return ",".join(map(str, self.schema.limits))

    @cached_property
    def counted(self) -> str:
        """Which fields are counted in Redis, for scripts."""
        return "".join("1" if field.counted else "0" for field in self.schema.fields)


def read_stores(wanted: Mapping[CounterStore, Collection[int]]) -> list[dict[int, Found] | None]:
    """The values of ids of several stores in one round trip."""
    requests = [store.request(ids) for store, ids in wanted.items()]
    answers = run_scripts(counters(), [call for call, _order in requests])
    return [
        store.answer(answer, order)
        for store, answer, (_call, order) in zip(wanted, answers, requests, strict=True)
    ]
