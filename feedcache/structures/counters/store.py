"""The records of one service in Redis. Knows no truth but what it is given; RedisError is the caller's.

Keys of one service share a hash tag, so a script about many buckets is one node's affair in a Redis Cluster; a service
that outgrows a node is cut by giving each part a tag of its own.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, cast

from feedcache.redis_servers.connections import Request, counters, run_batch, run_script
from feedcache.structures.counters import scripts
from feedcache.structures.counters.layout import Place, Places
from feedcache.structures.counters.schema import Row, Schema, revision_of

logger = logging.getLogger(__name__)

MAX_IDS = 1000
PLACES_KEPT = 8192  # of 200 bytes
PUT_BATCH = 250  # records in one script: about a millisecond of Redis
LEASE_SECONDS = 60  # of a builder between two batches, and of whoever loads a cold bucket
WHOLE = 2
UNREADABLE = -1  # the counts of garbage, when it is compared

Values = tuple[int, ...]


class Cold:
    """Of an id in a bucket that is cold and not loaded, or lost: only PostgreSQL knows."""


COLD: Final = Cold()
Found = Values | Cold


class BucketLease(NamedTuple):
    """A turn at building: what has been built up to the id `cursor`, from the bucket `floor` on."""

    token: str
    cursor: int | None
    floor: int


@dataclass(frozen=True)
class CounterStore:
    """The records of `schema`, cut into buckets by `places`."""

    schema: Schema
    places: Places
    heat_seconds: int = 3600  # how long a cold bucket stays that nobody reads
    _placed: dict[int, Place] = field(default_factory=dict, init=False, compare=False, repr=False)

    def request(self, ids: Collection[int]) -> tuple[Request, list[int]]:
        """The script that reads up to 1,000 ids, and the order in which it answers."""
        if len(ids) > MAX_IDS:
            raise ValueError(f"at most {MAX_IDS} ids a call, not {len(ids)}")
        buckets: dict[int, tuple[list[int], list[bytes]]] = {}
        known = self._placed
        for id_ in dict.fromkeys(ids):
            bucket, name = known.get(id_) or self._place(id_)
            if bucket in buckets:
                buckets[bucket][0].append(id_)
                buckets[bucket][1].append(name)
            else:
                buckets[bucket] = [id_], [name]
        order: list[int] = []
        args: list[Any] = [self.layout, self.heat_seconds, min(buckets, default=0)]
        for members, names in buckets.values():
            order += members
            args += [len(names), *names]
        return Request(scripts.READ, [self.meta_key, *map(self.key, buckets)], args), order

    def _place(self, id_: int) -> Place:
        """A place is always the same: it is kept, or the sums of them are a twentieth of a home page."""
        if len(self._placed) >= PLACES_KEPT:
            self._placed.clear()
        place = self._placed[id_] = self.places.place(id_)
        return place

    def answer(self, said: list[Any], order: list[int]) -> dict[int, Found] | None:
        """What the script of `request` says; None while a missing record does not mean zero, and when it is garbage."""
        if said[0] != WHOLE:
            return None
        try:
            unpack, zeros = self.schema.unpack, self.schema.zeros
            values = [  # spelled out: most posts have no record, or a plain one
                zeros if raw is None else unpack(raw) if type(raw) is bytes else self._found(raw)
                for raw in said[1:]
            ]
            return dict(zip(order, values, strict=True))
        except ValueError as error:
            logger.warning("counters of %s: %s", self.schema.name, error)
            return None

    def _found(self, raw: Any) -> Found:
        return COLD if raw == -1 else self._values(raw)

    def records(self, ids: Collection[int]) -> dict[int, Row | None]:
        """What Redis has of ids, None without a record; cold ones are left out, and all while it is not whole."""
        request, order = self.request(ids)
        said = run_script(counters(), request)
        return {
            id_: None if raw is None else self._row(id_, raw)
            for id_, raw in zip(order, said[1:], strict=False)
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
        self, rows: Iterable[Row], *, turn: BucketLease | None = None, cursor: int | None = None
    ) -> bool:
        """Put rows as PostgreSQL had them; older revisions lose. With a turn: False when the turn was lost."""
        rows = list(rows)
        batches = [rows[at : at + PUT_BATCH] for at in range(0, len(rows), PUT_BATCH)] or [[]]
        for number, batch in enumerate(batches, start=1):
            reached = cursor if number == len(batches) else batch[-1].id
            if not self._put(batch, turn, reached) and turn:
                return False
        return True

    def _put(self, rows: Sequence[Row], turn: BucketLease | None, cursor: int | None) -> bool:
        indexes: dict[int, int] = {}
        records: list[Any] = []
        for row in rows:
            bucket, field = self.places.place(row.id)
            index = indexes.setdefault(bucket, len(indexes) + 1)
            records += [index, field, *self.packed(row)]
        reached = "" if cursor is None else cursor
        token = turn.token if turn else ""
        head = [self.limits, self.counted, token, LEASE_SECONDS, reached, len(indexes)]
        keys = [self.meta_key, *map(self.key, indexes)]
        return bool(self.run(scripts.PUT, keys, [*head, *indexes, *records]))

    def add(
        self, field: int, deltas: Mapping[int, int], bases: Mapping[int, Row] | None = None
    ) -> dict[int, int | str]:
        """Count a field of up to 1,000 ids; per id its new value, or "clamped", "base" or "cold" (see scripts.ADD).

        Nothing at all when the store is lost.
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
        said = self.run(scripts.ADD, keys, [*head, *indexes, *changes])
        return {
            id_: int(value) if value.isdigit() else value.decode()
            for id_, value in zip(deltas, said, strict=False)
        }

    def packed(self, row: Row) -> tuple[bytes, str]:
        """A row as scripts take it: the record, and pairs of index (from 1) and value of its aux dict."""
        record, aux = self.schema.pack(row.values, row.revision)
        return record, ",".join(f"{index + 1}:{value}" for index, value in aux.items())

    def run(self, source: str, keys: list[str], args: list[Any]) -> Any:
        """What a script answers."""
        return run_script(counters(), Request(source, keys, args))

    def key(self, bucket: int) -> str:
        """The hash of a bucket."""
        return f"{self._prefix}{bucket:x}"

    @cached_property
    def _prefix(self) -> str:
        return f"c{{{self.schema.name}}}:{self.places.name}:"

    @cached_property
    def meta_key(self) -> str:
        """What is known of the store."""
        return f"{self._prefix}meta"

    @cached_property
    def dirty_key(self) -> str:
        """The increments that PostgreSQL does not have."""
        return f"{self._prefix}dirty"

    @cached_property
    def places_key(self) -> str:
        """Which places are in use."""
        return f"c{{{self.schema.name}}}:places"

    @cached_property
    def walk_key(self) -> str:
        """How far the comparison with PostgreSQL has come."""
        return f"c{{{self.schema.name}}}:walk"

    @cached_property
    def layout(self) -> str:
        """The fields, in a form that a longer list of fields begins with."""
        rules = f"{self.schema.rules}:" if self.schema.rules > 1 else ""
        return rules + "".join(f"{name}," for name in self.schema.names)

    @cached_property
    def limits(self) -> str:
        """The limits of the fields, as scripts take them."""
        return ",".join(map(str, self.schema.limits))

    @cached_property
    def counted(self) -> str:
        """Which fields are counted here, as scripts take it."""
        return "".join("1" if field.counted else "0" for field in self.schema.fields)


def merge_windows(wanted: Mapping[CounterStore, Collection[int]]) -> list[dict[int, Found] | None]:
    """The values of ids of several stores in one round trip."""
    asked = [store.request(ids) for store, ids in wanted.items()]
    requests = [request for request, _order in asked]
    if len(requests) == 1:  # a pipeline of one costs more than the script alone
        said = [run_script(counters(), requests[0])]
    else:
        said = run_batch(counters(), requests)
    return [
        store.answer(answer, order)
        for store, answer, (_request, order) in zip(wanted, said, asked, strict=True)
    ]
