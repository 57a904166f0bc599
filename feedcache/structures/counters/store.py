"""The records of a service in Redis, in buckets, in one part or several. It never queries PostgreSQL.

`lua` describes the keys and contains the scripts.
"""

import logging
import secrets
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple, cast

from feedcache.connections import Redis, counter_ranges, counters, counters_at
from feedcache.ids import MAX_ID
from feedcache.redis_clients import ScriptCall, execute, run_script
from feedcache.structures.counters import lua
from feedcache.structures.counters.buckets import Buckets, Place
from feedcache.structures.counters.records import Row, Schema, Values, revision_of
from feedcache.topology import Range

logger = logging.getLogger(__name__)

MAX_IDS = 1000
MAX_CACHED = 8192  # places of ids, 200 bytes each
PUT_BATCH = 250  # records in one script, which blocks Redis for about a millisecond
LEASE_SECONDS = 60  # for a builder between two batches, and for the loader of a cold bucket
WHOLE = 2  # the first element of an answer of `lua.READ` if the store is complete
# The value of each count that `records` returns for a damaged record. No row has it, so comparisons find a difference.
UNREADABLE = -1


class AskSource:
    """The answer for an id whose bucket is lost, or cold and not loaded, so that only PostgreSQL has its counts."""


ASK_SOURCE: Final = AskSource()
Found = Values | AskSource


class Part(NamedTuple):
    """The ids from `low` to below `end` (None: no end), and the server with their counts ("": the server in the
    settings). While the part moves, `also` is the other server.
    """

    low: int = 0
    end: int | None = None
    url: str = ""
    also: str | None = None


WHOLE_STORE = Part()


class BucketLease(NamedTuple):
    """The lease of a rebuild. `floor` is the first hot bucket, `cursor` the last id that is done (None: no id yet)."""

    token: str
    cursor: int | None
    floor: int


class ClosedError(Exception):
    """This server does not accept increments of the part, because the part is moving."""


@dataclass(frozen=True, eq=False)
class CounterStore:
    """The records of `schema`, divided into buckets. Instances are compared by identity.

    A cold bucket that was loaded expires `cold_ttl_seconds` after its last read, or after its last increment was
    written to PostgreSQL.
    """

    schema: Schema
    buckets: Buckets
    cold_ttl_seconds: int = 3600
    part: Part = WHOLE_STORE
    _cached_places: dict[int, Place] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    @property
    def client(self) -> Redis:
        """The server of this part."""
        return counters_at(self.part.url)

    def parts(self) -> "tuple[CounterStore, ...]":
        """The parts, by ascending ids; only the store itself while everything is at the address in the settings."""
        ranges = counter_ranges(self.schema.name) if self.part == WHOLE_STORE else ()
        return _parts(self, ranges) if ranges else (self,)

    def by_part(self, ids: Iterable[int]) -> "list[tuple[CounterStore, list[int]]]":
        """The ids, grouped by the part that contains them."""
        parts = self.parts()
        if len(parts) == 1:
            return [(parts[0], list(ids))]
        firsts = [part.first_bucket for part in parts]
        found: dict[int, list[int]] = {}
        for id_ in ids:
            found.setdefault(bisect_right(firsts, self.bucket_of(id_)) - 1, []).append(id_)
        return [(parts[number], members) for number, members in found.items()]

    def servers(self) -> "list[CounterStore]":
        """The part on the server that it is read from and, while it moves, the part on the other server."""
        return [self] if self.part.also is None else [self, self.on_other_server()]

    def on_other_server(self) -> "CounterStore":
        return replace(self, part=self.part._replace(url=self.part.also or "", also=None))

    def bucket_of(self, id_: int) -> int:
        return self.buckets.place(id_)[0]

    @cached_property
    def first_bucket(self) -> int:
        return self.bucket_of(self.part.low)

    @cached_property
    def end_bucket(self) -> int | None:
        """The first bucket of the next part."""
        return None if self.part.end is None else self.bucket_of(self.part.end)

    @property
    def end_id(self) -> int:
        """The first id of the next part."""
        return MAX_ID + 1 if self.end_bucket is None else self.buckets.span(self.end_bucket).low

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
        return ScriptCall(lua.READ, [self.meta_key, *map(self.key, buckets)], args), order

    def _place(self, id_: int) -> Place:
        """The place of an id. Cached, because places never change, and a page needs many."""
        if len(self._cached_places) >= MAX_CACHED:
            self._cached_places.clear()
        place = self._cached_places[id_] = self.buckets.place(id_)
        return place

    def answer(self, answers: list[Any], order: list[int]) -> dict[int, Found] | None:
        """Parse the answer to `request`; returns None while the store is incomplete, and for garbage."""
        if answers[0] != WHOLE:
            return None
        try:
            zeros, unpack = self.schema.zeros, self.schema.unpack
            values = [
                zeros if raw is None else unpack(raw) if type(raw) is bytes else self._rare(raw)
                for raw in answers[1:]
            ]
            return dict(zip(order, values, strict=True))
        except ValueError as error:
            logger.warning("counters of %s: %s", self.schema.name, error)
            return None

    def _rare(self, raw: Any) -> Found:
        """The result for a cold id, or for a record with large counts."""
        return ASK_SOURCE if raw == -1 else self._values(raw)

    def records(self, ids: Collection[int]) -> dict[int, Row | None]:
        """The rows in Redis; None for an id that was never counted. Leaves out ids whose counts only PostgreSQL has:
        all ids if the store is incomplete.
        """
        request, order = self.request(ids)
        answers = run_script(self.client, *request)
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
        """Store rows from PostgreSQL, except values older than those in Redis, and rows of cold buckets not in Redis.

        Stores nothing in a lost store. Returns False if the lease was lost.
        """
        rows = list(rows)
        batches = [rows[at : at + PUT_BATCH] for at in range(0, len(rows), PUT_BATCH)] or [[]]
        for number, batch in enumerate(batches, start=1):
            reached = cursor if number == len(batches) else batch[-1].id
            if not self._put(batch, lease, reached) and lease:
                return False
        return True

    def _put(self, rows: Sequence[Row], lease: BucketLease | None, cursor: int | None) -> bool:
        return bool(run_script(self.client, *self.put_call(rows, lease, cursor)))

    def put_call(
        self,
        rows: Sequence[Row],
        lease: BucketLease | None = None,
        cursor: int | None = None,
    ) -> ScriptCall:
        """Like `put`, for at most `PUT_BATCH` rows, but returns a command to be sent with others."""
        indexes: dict[int, int] = {}
        records: list[Any] = []
        for row in rows:
            bucket, field = self.buckets.place(row.id)
            index = indexes.setdefault(bucket, len(indexes) + 1)
            records += [index, field, *self.packed(row)]
        reached = "" if cursor is None else cursor
        token = lease.token if lease else ""
        head = [self.limits, self.counted, token, LEASE_SECONDS, reached, len(indexes)]
        keys = [self.meta_key, *map(self.key, indexes)]
        return ScriptCall(lua.PUT, keys, [*head, *indexes, *records])

    def add(
        self, field: int, deltas: Mapping[int, int], bases: Mapping[int, Row] | None = None
    ) -> dict[int, int | str]:
        """Add to a field of up to 1,000 ids. Returns the new value of each, or "clamped", "base" or "cold" (`lua.ADD`).

        Returns an empty result if the store was lost. Raises ClosedError while another server counts.
        """
        if len(deltas) > MAX_IDS:
            raise ValueError(f"at most {MAX_IDS} ids a call, not {len(deltas)}")
        indexes: dict[int, int] = {}
        changes: list[Any] = []
        for id_, delta in deltas.items():
            bucket, name = self.buckets.place(id_)
            index = indexes.setdefault(bucket, len(indexes) + 1)
            base = self.packed(bases[id_]) if bases and id_ in bases else ("", "")
            changes += [index, name, delta, *base]
        keys = [self.meta_key, self.dirty_key, *map(self.key, indexes)]
        head = [self.limits, len(self.schema.fields), field + 1, len(indexes)]
        answers = self.run(lua.ADD, keys, [*head, *indexes, *changes])
        if answers == [b"closed"]:
            raise ClosedError
        return {
            id_: int(value) if value.isdigit() else value.decode()
            for id_, value in zip(deltas, answers, strict=False)
        }

    def packed(self, row: Row) -> tuple[bytes, str]:
        """A row in the form for scripts: the record, and its aux dict as "index:value,index:value", indexes from 1."""
        record, aux = self.schema.pack(row.values, row.revision)
        return record, ",".join(f"{index + 1}:{value}" for index, value in aux.items())

    def run(self, source: str, keys: list[str], args: list[Any]) -> Any:
        return run_script(self.client, source, keys, args)

    def key(self, bucket: int) -> str:
        return f"{self._prefix}{bucket:x}"

    @cached_property
    def _prefix(self) -> str:
        return f"c{{{self.schema.name}}}:{self.buckets.name}:"

    @cached_property
    def _suffix(self) -> str:
        """The suffix of the keys about a part, because a server may have several parts."""
        return f":{self.part.low:x}" if self.part.low else ""

    @cached_property
    def meta_key(self) -> str:
        return f"{self._prefix}meta{self._suffix}"

    @cached_property
    def dirty_key(self) -> str:
        return f"{self._prefix}dirty{self._suffix}"

    @cached_property
    def buckets_key(self) -> str:
        return f"c{{{self.schema.name}}}:places{self._suffix}"

    @cached_property
    def walk_key(self) -> str:
        return f"c{{{self.schema.name}}}:walk"

    @cached_property
    def layout(self) -> str:
        """The fields in one string. When fields are added at the end, the old string is a prefix of the new string."""
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


@lru_cache(maxsize=32)
def _parts(store: CounterStore, ranges: tuple[Range, ...]) -> tuple[CounterStore, ...]:
    ends = [*(one.low for one in ranges[1:]), None]
    return tuple(
        replace(store, part=Part(one.low, end, one.tenant.url, one.tenant.also))
        for one, end in zip(ranges, ends, strict=True)
    )


def read_stores(wanted: Mapping[CounterStore, Collection[int]]) -> list[dict[int, Found] | None]:
    """The values of ids in several stores, all at the address in the settings, in one round trip."""
    requests = [store.request(ids) for store, ids in wanted.items()]
    answers = execute(counters(), [call for call, _order in requests])
    return [
        store.answer(answer, order)
        for store, answer, (_call, order) in zip(wanted, answers, requests, strict=True)
    ]


class Load(NamedTuple):
    """A cold or lost bucket that this process is loading under a lease with this token."""

    bucket: int
    token: str


def begin_load(store: CounterStore, buckets: Collection[int]) -> list[Load]:
    """Acquire the missing buckets that no other process is loading; from now on, puts to them are stored."""
    token = secrets.token_hex(8)
    keys = [store.meta_key, *map(store.key, buckets)]
    won = store.run(lua.LOAD_BEGIN, keys, [token, LEASE_SECONDS, *buckets])
    return [Load(bucket, token) for bucket, is_won in zip(buckets, won, strict=True) if is_won]


def end_load(store: CounterStore, load: Load, rows: Iterable[Row]) -> bool:
    """Store all rows of a bucket, read after `begin_load`, and mark it as complete. Returns False if the lease was
    lost.
    """
    head = [load.token, store.cold_ttl_seconds, load.bucket, store.limits, store.counted]
    records = [
        part for row in rows for part in (store.buckets.place(row.id)[1], *store.packed(row))
    ]
    keys = [store.meta_key, store.dirty_key, store.key(load.bucket)]
    return bool(store.run(lua.LOAD_END, keys, [*head, *records]))


def expect_build(store: CounterStore, floor: int) -> None:
    """Give a lost store its floor, without which puts and increments are not stored. The rebuild may begin later."""
    store.run(lua.BUILD_BEGIN, [store.meta_key], ["", 0, floor, store.layout, ""])
