"""CounterService: several small counts per id in one packed record, records of neighbouring ids in one Redis hash.

While the store is complete, a missing record means zero, without a query. While it is not, and when Redis does not
answer, PostgreSQL is asked: there are no wrong zeros. The whole bucket of a cold id is loaded once and stays for a
while. `lua` says what is in Redis, `maintenance` how a store is rebuilt and evicted.

A bucket has about a hundred records, in listpack form. With ten it costs some 12 bytes more for each record; beyond
`hash-max-listpack-entries` (512) it becomes a hash table of 70 bytes a record, so a busy site sets shorter buckets, and
below a second splits them by author.

A record: one byte (low four bits: number of fields; high bit: some counts are in the aux dict), the low 16 bits of
the revision, then the values in byte planes: the lowest byte of every field, the next byte of every field, and so on;
trailing zeros are left out. Five counts below 256 take at most eight bytes, whatever their widths. Fields are only ever
added at the end: an older record has fewer of them, and the new one reads 0.

A service that outgrows a server is split by ranges of ids, which the topology names: each part has its server, its own
meta keys and its own floor, and is built and moved by itself (`moves`). Without ranges nothing of that is asked.
"""

import logging
import secrets
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from time import sleep, time
from typing import Any, Final, NamedTuple, Protocol, Self, cast

from feedcache.connections import Redis, RedisError, counter_ranges, counters, counters_at
from feedcache.ids import AUTHOR_BITS, EPOCH, MAX_AUTHOR_ID, MAX_ID, MAX_SEQUENCE, SEQUENCE_BITS
from feedcache.read_through import Batch, Future
from feedcache.redis_clients import ScriptCall, execute, run_script
from feedcache.structures.counters import lua
from feedcache.topology import Range

HEADER = 3
IN_AUX = 0x80
NUMBER = 0x0F  # of fields, in the first byte
REVISIONS = 1 << 16
MAX_COUNT = (1 << 63) - 1  # in the aux dict
MAX_IN_RECORD = 10**15 - 1  # Lua's doubles hold it exactly
_SECOND_SHIFT = AUTHOR_BITS + SEQUENCE_BITS

Place = tuple[int, bytes]  # the number of a bucket, and the name of a record there


class Span(NamedTuple):
    """The ids of a bucket: those from `low` to `high` with `id & mask == value`."""

    low: int
    high: int
    mask: int
    value: int


class Places(Protocol):
    """A way to divide ids into buckets. Numbers of buckets grow with the ids."""

    @property
    def name(self) -> str:
        """Part of every key: other places are other keys."""

    def place(self, id_: int) -> Place:
        """The bucket and the name of an id."""

    def id_at(self, place: Place) -> int:
        """The inverse of `place`."""

    def span(self, bucket: int) -> Span:
        """The ids of a bucket."""

    def at(self, unix_second: int) -> int:
        """The first bucket that may hold ids of a second and later."""


@dataclass(frozen=True)
class TimeBuckets:
    """Post ids by their time: `seconds` to a bucket, each split into `split` by the low bits of the author."""

    seconds: int
    split: int = 1

    def __post_init__(self) -> None:
        if self.seconds < 1:
            raise ValueError("a bucket lasts a second at least")
        if not 1 <= self.split <= 1 << 16 or self.split & (self.split - 1):
            raise ValueError("buckets are split into a power of two, 65,536 at most")

    @cached_property
    def _authors(self) -> int:
        return (MAX_AUTHOR_ID + 1) // self.split

    @property
    def name(self) -> str:
        return f"t{self.seconds}/{self.split}"

    def place(self, id_: int) -> Place:
        """The name is the number of sequence, author, second, highest first: short while there are few authors."""
        span, second = divmod(id_ >> _SECOND_SHIFT, self.seconds)
        author, part = divmod(id_ >> SEQUENCE_BITS & MAX_AUTHOR_ID, self.split)
        rest = ((id_ & MAX_SEQUENCE) * self._authors + author) * self.seconds + second
        return span * self.split + part, rest.to_bytes((rest.bit_length() + 7) // 8)

    def id_at(self, place: Place) -> int:
        span, part = divmod(place[0], self.split)
        rest, second = divmod(int.from_bytes(place[1]), self.seconds)
        sequence, author = divmod(rest, self._authors)
        whole_author = author * self.split + part
        whole_second = span * self.seconds + second
        return whole_second << _SECOND_SHIFT | whole_author << SEQUENCE_BITS | sequence

    def span(self, bucket: int) -> Span:
        """A range of ids; with `split`, every `split`-th author's."""
        span, part = divmod(bucket, self.split)
        low = span * self.seconds << _SECOND_SHIFT
        high = min(low + (self.seconds << _SECOND_SHIFT) - 1, MAX_ID)
        return Span(low, high, self.split - 1 << SEQUENCE_BITS, part << SEQUENCE_BITS)

    def at(self, unix_second: int) -> int:
        return max(unix_second - EPOCH, 0) // self.seconds * self.split


@dataclass(frozen=True, slots=True)
class IdBuckets:
    """Dense ids, such as those of users: `size` neighbours to a bucket. They are never evicted."""

    size: int = 128

    @property
    def name(self) -> str:
        return f"i{self.size}"

    def place(self, id_: int) -> Place:
        bucket, rest = divmod(id_, self.size)
        return bucket, rest.to_bytes((rest.bit_length() + 7) // 8)

    def id_at(self, place: Place) -> int:
        return place[0] * self.size + int.from_bytes(place[1])

    def span(self, bucket: int) -> Span:
        low = bucket * self.size
        return Span(low, min(low + self.size - 1, MAX_ID), 0, 0)

    def at(self, unix_second: int) -> int:
        """The first bucket: an id does not tell the age of an account."""
        return 0


def parse_places(name: str) -> Places:
    """The places of a name; ValueError for an unknown name."""
    kind, numbers = name[:1], name[1:].split("/")
    if kind == "t" and len(numbers) == 2:
        return TimeBuckets(int(numbers[0]), int(numbers[1]))
    if kind == "i" and len(numbers) == 1:
        return IdBuckets(int(numbers[0]))
    raise ValueError(f"no places are called {name!r}")


class Row(NamedTuple):
    """The counts of an id in PostgreSQL, with their revision."""

    id: int
    values: tuple[int, ...]
    revision: int


class Packed(NamedTuple):
    """A record, and the counts that do not fit into it, by the index of their field."""

    record: bytes
    aux: dict[int, int]


@dataclass(frozen=True, slots=True)
class Field:
    """A count. Up to `width` bytes are stored in the record, larger values in the aux dict.

    A counted field is counted in Redis and written to PostgreSQL later; any other is put from PostgreSQL.
    """

    name: str
    width: int = 4
    counted: bool = False

    @property
    def limit(self) -> int:
        """The largest value that a record holds."""
        return min((1 << 8 * self.width) - 1, MAX_IN_RECORD)


@dataclass(frozen=True)
class Schema:
    """The fields of one kind of record, in an order that never changes.

    `rules`: raise it when a field counts something else than before; all records are then rebuilt.
    """

    name: str
    fields: tuple[Field, ...]
    rules: int = 1

    def __post_init__(self) -> None:
        if not 1 <= len(self.fields) <= NUMBER:
            raise ValueError(f"1 to {NUMBER} fields, not {len(self.fields)}")
        if len({field.name for field in self.fields}) < len(self.fields):
            raise ValueError("two fields of one name")
        if any(not 2 <= field.width <= 8 for field in self.fields):
            raise ValueError("a field is 2 to 8 bytes wide")

    @cached_property
    def zeros(self) -> tuple[int, ...]:
        return (0,) * len(self.fields)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @cached_property
    def limits(self) -> tuple[int, ...]:
        return tuple(field.limit for field in self.fields)

    @cached_property
    def counted(self) -> tuple[int, ...]:
        """The indexes of the counted fields."""
        return tuple(index for index, field in enumerate(self.fields) if field.counted)

    def index(self, name: str) -> int:
        """KeyError when there is no field of this name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise KeyError(name) from None

    def pack(self, values: Sequence[int], revision: int) -> Packed:
        """ValueError when a value is negative or beyond 63 bits."""
        if len(values) != len(self.fields):
            raise ValueError(f"{len(self.fields)} values, not {len(values)}")
        if min(values) < 0 or max(values) > MAX_COUNT:
            raise ValueError(f"a count is between 0 and {MAX_COUNT}: {values}")
        aux = {
            index: value
            for index, (value, limit) in enumerate(zip(values, self.limits, strict=True))
            if value > limit
        }
        stored = [0 if index in aux else value for index, value in enumerate(values)]
        maximum = max(stored)
        if maximum < 256:
            body = bytes(stored)
        else:
            planes = range(0, maximum.bit_length(), 8)
            body = bytes([value >> plane & 255 for plane in planes for value in stored])
        first = len(self.fields) | (IN_AUX if aux else 0)
        header = bytes([first]) + (revision % REVISIONS).to_bytes(2, "little")
        return Packed(header + body.rstrip(b"\0"), aux)

    def unpack(self, record: bytes, aux: Mapping[int, int] | None = None) -> tuple[int, ...]:
        """The values of a record: 0 for fields that it lacks, none that this schema lacks; ValueError for garbage."""
        number, own = record[0] & NUMBER if len(record) >= HEADER else 0, len(self.fields)
        if not number:
            raise ValueError(f"not a record: {record!r}")
        if len(record) <= HEADER + number == HEADER + own and not aux:  # one plane: most records
            return (*record[HEADER:], *self.zeros[len(record) - HEADER :])
        values = [
            int.from_bytes(record[at::number], "little") for at in range(HEADER, HEADER + number)
        ]
        if number != own:
            values = [*values[:own], *[0] * (own - number)]
        for index, value in (aux or {}).items():
            if index < own:
                values[index] = value
        return tuple(values)


def revision_of(record: bytes) -> int:
    """The low 16 bits of the revision of a record."""
    return int.from_bytes(record[1:HEADER], "little")


def is_newer(revision: int, than: int) -> bool:
    """Whether a revision follows another, both mod 2^16: the shorter way round counts."""
    return 0 < (revision - than) % REVISIONS < REVISIONS // 2


def revision_after(revision: int, *, than: int) -> int:
    """The first revision after `revision` that also beats the low 16 bits `than` of another."""
    if is_newer(revision + 1, than):
        return revision + 1
    return revision + (than + 1 - revision) % REVISIONS


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


class Part(NamedTuple):
    """The ids from `low` to below `end` (None: all above), and the server that has their counts; "" is that of the
    settings. While the part moves, `also` is the other server.
    """

    low: int = 0
    end: int | None = None
    url: str = ""
    also: str | None = None


WHOLE_STORE = Part()


class BucketLease(NamedTuple):
    """A builder's lease: everything is built from the bucket `floor` up to the id `cursor`."""

    token: str
    cursor: int | None
    floor: int


@dataclass(frozen=True)
class CounterStore:
    """The records of `schema`, divided into buckets by `places`.

    A cold bucket expires `cold_ttl_seconds` after its last read.
    """

    schema: Schema
    places: Places
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
        """The parts by ascending ids; the store itself while all of it is at the address of the settings."""
        ranges = counter_ranges(self.schema.name) if self.part == WHOLE_STORE else ()
        return _parts(self, ranges) if ranges else (self,)

    def by_part(self, ids: Iterable[int]) -> "list[tuple[CounterStore, list[int]]]":
        """The parts that have some ids, with these."""
        parts = self.parts()
        if len(parts) == 1:
            return [(parts[0], list(ids))]
        firsts = [part.first_bucket for part in parts]
        found: dict[int, list[int]] = {}
        for id_ in ids:
            found.setdefault(bisect_right(firsts, self.places.place(id_)[0]) - 1, []).append(id_)
        return [(parts[number], members) for number, members in found.items()]

    def servers(self) -> "list[CounterStore]":
        """The part where it is read, and while it moves where it is written, too."""
        return [self] if self.part.also is None else [self, self.on_other_server()]

    def on_other_server(self) -> "CounterStore":
        return replace(self, part=self.part._replace(url=self.part.also or "", also=None))

    @cached_property
    def first_bucket(self) -> int:
        return self.places.place(self.part.low)[0]

    @cached_property
    def end_bucket(self) -> int | None:
        """The first bucket of the next part."""
        return None if self.part.end is None else self.places.place(self.part.end)[0]

    @property
    def end_id(self) -> int:
        """The first id of the next part."""
        return MAX_ID + 1 if self.end_bucket is None else self.places.span(self.end_bucket).low

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
        """Rows as Redis has them, None without a record; no cold ids, and none at all while the store is incomplete."""
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
        """Put rows of PostgreSQL; older revisions lose. With a lease: False when it was lost."""
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
        """`put` of at most `PUT_BATCH` rows as a command beside others."""
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
        return ScriptCall(lua.PUT, keys, [*head, *indexes, *records])

    def add(
        self, field: int, deltas: Mapping[int, int], bases: Mapping[int, Row] | None = None
    ) -> dict[int, int | str]:
        """Count a field of up to 1,000 ids; per id its new value, or "clamped", "base" or "cold" (see scripts.ADD).

        Empty when the store was lost. ClosedError while another server counts.
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
        answers = self.run(lua.ADD, keys, [*head, *indexes, *changes])
        if answers == [b"closed"]:
            raise ClosedError
        return {
            id_: int(value) if value.isdigit() else value.decode()
            for id_, value in zip(deltas, answers, strict=False)
        }

    def packed(self, row: Row) -> tuple[bytes, str]:
        """A row for scripts: the record, and pairs of index (from 1) and value of its aux dict."""
        record, aux = self.schema.pack(row.values, row.revision)
        return record, ",".join(f"{index + 1}:{value}" for index, value in aux.items())

    def run(self, source: str, keys: list[str], args: list[Any]) -> Any:
        return run_script(self.client, source, keys, args)

    def key(self, bucket: int) -> str:
        return f"{self._prefix}{bucket:x}"

    @cached_property
    def _prefix(self) -> str:
        return f"c{{{self.schema.name}}}:{self.places.name}:"

    @cached_property
    def _suffix(self) -> str:
        """Of the keys of a part: a server may have several."""
        return f":{self.part.low:x}" if self.part.low else ""

    @cached_property
    def meta_key(self) -> str:
        return f"{self._prefix}meta{self._suffix}"

    @cached_property
    def dirty_key(self) -> str:
        return f"{self._prefix}dirty{self._suffix}"

    @cached_property
    def places_key(self) -> str:
        return f"c{{{self.schema.name}}}:places{self._suffix}"

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


@lru_cache(maxsize=32)
def _parts(store: CounterStore, ranges: tuple[Range, ...]) -> tuple[CounterStore, ...]:
    ends = [*(one.low for one in ranges[1:]), None]
    return tuple(
        replace(store, part=Part(one.low, end, one.tenant.url, one.tenant.also))
        for one, end in zip(ranges, ends, strict=True)
    )


def read_stores(wanted: Mapping[CounterStore, Collection[int]]) -> list[dict[int, Found] | None]:
    """The values of ids of several stores in one round trip."""
    requests = [store.request(ids) for store, ids in wanted.items()]
    answers = execute(counters(), [call for call, _order in requests])
    return [
        store.answer(answer, order)
        for store, answer, (_call, order) in zip(wanted, answers, requests, strict=True)
    ]


logger = logging.getLogger(__name__)

MAX_LOADED = 50  # cold buckets per read; the counts of further ones come from PostgreSQL
MAX_TRIES = 4  # of a count: the store may be lost, then lack a base, or a bucket that expires again


CLOSED_TRIES, CLOSED_SECONDS = 40, 0.05  # while a part is handed over to another server


class ClosedError(Exception):
    """The part of a store is counted on another server."""


class Load(NamedTuple):
    """A cold or lost bucket that this process loads, until the lease of the token ends."""

    bucket: int
    token: str


def begin_load(store: CounterStore, buckets: Collection[int]) -> list[Load]:
    """Acquire those buckets that are missing and not being loaded; puts to them are stored from now on."""
    token = secrets.token_hex(8)
    keys = [store.meta_key, *map(store.key, buckets)]
    won = store.run(lua.LOAD_BEGIN, keys, [token, LEASE_SECONDS, *buckets])
    return [Load(bucket, token) for bucket, is_won in zip(buckets, won, strict=True) if is_won]


def end_load(store: CounterStore, load: Load, rows: Iterable[Row]) -> bool:
    """Put all rows of a bucket, read after `begin_load`, and mark it complete; False when the lease was lost."""
    head = [load.token, store.cold_ttl_seconds, load.bucket, store.limits, store.counted]
    records = [part for row in rows for part in (store.places.place(row.id)[1], *store.packed(row))]
    keys = [store.meta_key, store.dirty_key, store.key(load.bucket)]
    return bool(store.run(lua.LOAD_END, keys, [*head, *records]))


def expect_build(store: CounterStore, floor: int) -> None:
    """Store puts from now on, whichever process will build."""
    store.run(lua.BUILD_BEGIN, [store.meta_key], ["", 0, floor, store.layout, ""])


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

    def put_many(self, rows: Iterable[Row]) -> None:
        """Put committed rows. Late, early and repeated puts do no harm. Raises RedisError."""
        rows = list(rows)
        for part, ids in self.store.by_part({row.id for row in rows}):
            wanted = set(ids)
            for store in part.servers():
                store.put([row for row in rows if row.id in wanted])

    def put_calls(self, row: Row) -> list[tuple[Redis, ScriptCall]]:
        """`put_many` of one row as commands beside others, by their servers."""
        [(part, _ids)] = self.store.by_part([row.id])
        return [(store.client, store.put_call([row])) for store in part.servers()]

    def parts(self) -> list[Self]:
        """The service by the parts of its store."""
        return [self.with_store(part) for part in self.store.parts()]

    def with_store(self, store: CounterStore) -> Self:
        return self if store is self.store else replace(self, store=store)

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
        for part, ids in self.store.by_part(deltas):
            try:
                wanted = {id_: deltas[id_] for id_ in ids}
                self.with_store(part).count_part(index, wanted, counted)
            except (RedisError, ClosedError) as error:
                logger.warning("%s counted by PostgreSQL: %r", field, error)
        left = {id_: delta for id_, delta in deltas.items() if id_ not in counted}
        if left:
            self.source.add_to(field, left)
        return counted

    def count_part(self, field: int, deltas: Mapping[int, int], counted: dict[int, int]) -> None:
        """Count until Redis lacks nothing: the base of an id during a rebuild, the bucket of a cold one."""
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
                {self.store.places.place(id_)[0] for id_ in left if answers.get(id_) == "cold"}
            )

    def _add(
        self, field: int, deltas: Mapping[int, int], bases: Mapping[int, Row]
    ) -> tuple[CounterStore, dict[int, int | str]]:
        """`add` on the one server that counts this part; while it moves, neither does for a moment."""
        for _try in range(CLOSED_TRIES):
            for store in self.store.servers():
                with suppress(ClosedError):
                    return store, store.add(field, deltas, bases)
            sleep(CLOSED_SECONDS)
        raise ClosedError

    def _value_of(self, id_: int, answer: int | str) -> int:
        if isinstance(answer, int):
            return answer
        logger.warning("a count of %s %s stopped at zero", self.name, id_)
        return 0

    def _bases(self, ids: Sequence[int]) -> dict[int, Row]:
        zeros = {id_: Row(id_, self.store.schema.zeros, 0) for id_ in ids}
        return zeros | self.source.rows(ids) if ids else zeros

    def load_buckets(self, buckets: Collection[int]) -> dict[int, list[Row]]:
        """Load cold buckets in one query, except those that another process is loading; their rows, by bucket."""
        loads = begin_load(self.store, buckets) if buckets else []
        loaded: dict[int, list[Row]] = {load.bucket: [] for load in loads}
        if loads:
            spans = [self.store.places.span(load.bucket) for load in loads]
            for row in self.source.rows_in(spans):
                loaded[self.store.places.place(row.id)[0]].append(row)
        for load in loads:
            end_load(self.store, load, loaded[load.bucket])
        return loaded

    def settle(self, ids: Collection[int], found: Mapping[int, Found] | None) -> dict[int, Values]:
        """Complete the counts that Redis returned; None: Redis is away, or its store incomplete."""
        if found is not None and COLD not in found.values():  # the usual case
            return cast("dict[int, Values]", dict(found))
        return self.complete(ids, found)

    def complete(
        self, ids: Collection[int], found: Mapping[int, Found] | None
    ) -> dict[int, Values]:
        """With what the source has of the others."""
        if found is None:
            return self._from_source(ids)
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
        rows = {row.id: row.values for bucket in loaded.values() for row in bucket}
        zeros = self.store.schema.zeros
        values = {id_: rows.get(id_, zeros) for id_ in cold if places[id_] in loaded}
        return values | self._from_source([id_ for id_ in cold if id_ not in values])

    def _from_source(self, ids: Collection[int]) -> dict[int, Values]:
        rows, zeros = self.source.rows(ids) if ids else {}, self.store.schema.zeros
        return {id_: rows[id_].values if id_ in rows else zeros for id_ in ids}


def get_in_batch(
    ids_by_service: Mapping[CounterService, Collection[int]],
) -> list[dict[int, Values]]:
    """The counts of several services in one round trip: a page's posts and its people."""
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
    """`get_in_batch` as a part of a batch."""
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
    """Parts of services whose counts are all on one server."""
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
    """The counts of services; a store that is missing in `found` did not answer, None: it is not complete."""
    for service in ids_by_service:
        if service.store in found and found[service.store] is None:
            service.source.lost()
    return [
        service.settle(ids, found.get(service.store)) for service, ids in ids_by_service.items()
    ]
