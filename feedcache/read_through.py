"""Cached values: get many from Memcached, load the missing ones, store them; several classes of data in one round trip.

**Envelope.** A value is stored with its form and a checksum, compressed when that saves bytes (source 002):

    | 1 byte: form (0 plain, 1 zstd) | 4 bytes: CRC-32 of form and rest | the rest |

Damage of any kind is a ValueError, so a miss. The size is read before anything is decompressed: a value that would
grow beyond its reader's limit is a miss too. Why from `COMPRESS_FROM` bytes on: docs/decisions/0011.

**Batch.** Everything is sent before the first answer is read. So a page waits for the slowest of its servers instead
of for one after the other (source 000: concurrent fetch and assembly), and needs no threads for it.

**Revision check.** A write is acknowledged when every node has it, or when Redis knows that a node missed it. Other
processes learn of the latter within a second: too late for a reader who must not see a post that was just deleted. So
a page reads the generations of the nodes and the version of the topology in the same round trip as its ids; values of a
node count only if what Redis returned after the request began still allows reading them.
"""

import json
import random
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from time import perf_counter
from typing import Any, Generic, TypeVar

import zstandard

from feedcache import stats
from feedcache.connections import Redis, RedisError, configuration, configured_topology
from feedcache.memcached_node import GENERATIONS_KEY, Kind, parse_generations
from feedcache.memcached_tiers import ABSENT, Items, Read, TieredCache, make, tiers
from feedcache.redis_clients import Command, PendingCommands, raise_first_error, server_of
from feedcache.servers import topology_listener
from feedcache.single_flight import load_once

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

TTL_JITTER = 0.1  # entries written together do not expire together
NEGATIVE_TTL_SECONDS = 5
RENEW_TRIES = 2  # with more concurrent writers than that the value is deleted


@dataclass(frozen=True)
class ReadThrough(Generic[K, V]):
    """One kind of value cached in Memcached.

    `version` is that of the byte form: raise it when the codec changes, never flush. `key_of` must return ASCII without
    blanks, made of typed ids only; a key that contains its value's version can never be stale.

    `family` is the class of data of the topology: staff flush a whole class by its epoch. Missing values are cached as
    such for `negative_ttl_seconds` (0: not at all); any stored value replaces that entry. `single_flight`: of many
    callers that miss a key at once, one loads (see `single_flight`). `decode_many` is a faster `decode` of many
    values; None for each value that `decode` would refuse.
    """

    name: str
    version: int
    ttl_seconds: int
    key_of: Callable[[K], str]
    encode: Callable[[V], bytes]
    decode: Callable[[bytes], V]
    family: str = ""
    negative_ttl_seconds: int = NEGATIVE_TTL_SECONDS
    single_flight: bool = True
    decode_many: Callable[[Sequence[bytes]], Sequence[V | None]] | None = None

    def get_many(
        self,
        keys: Collection[K],
        load: Callable[[list[K]], dict[K, V]],
        *,
        accept: Callable[[K, V], bool] | None = None,
    ) -> dict[K, V]:
        """The values of all keys that exist. At most 1,000 keys.

        `load` receives the missing keys; of those that another caller is loading, the ones it did not load in time:
        then it is called more than once. A cached value that `accept` refuses, because its revision is outdated, is a
        miss.
        """
        cache = tiers()
        names = self.names(keys, cache)
        if not names:
            return {}
        return ReadThroughCall(self, cache, cache.read(names), names, load, accept).run()

    def get_checked(
        self, key: K, load: Callable[[list[K]], dict[K, V]], batch: "Batch | None" = None
    ) -> V | None:
        """The value of a key if the revision check of the same round trip allows reading it, loading it when missing.

        None when it does not exist, and without Memcached or Redis. Executes the batch, with what it holds already.
        """
        batch = batch or Batch()
        found = batch.get_many(self, [key], lambda keys: load(keys) if batch.is_current else {})
        batch.execute(check_revisions=True)
        return found().get(key) if batch.is_current else None

    def set_many(self, values: dict[K, V]) -> bool:
        """Store committed values; whether all are in Main or Backup."""
        cache = tiers()
        named = {name: self.encode(values[key]) for name, key in self.names(values, cache).items()}
        return cache.set_many(named, ttl_seconds=self.jittered_ttl())

    def delete_many(self, keys: Collection[K]) -> bool:
        """Delete values after a committed change; nothing older will be read."""
        cache = tiers()
        return cache.delete_many(self.names(keys, cache))

    def peek_many(self, keys: Collection[K]) -> dict[K, V]:
        """The cached values, whatever their revision, without loading; garbage is left out. At most 1,000 keys."""
        cache = tiers()
        names = self.names(keys, cache)
        values = {}
        for name, data in cache.get_many(names).items():
            with suppress(ValueError):
                values[names[name]] = self.decode(data)
        return values

    def prepare(self, key: K) -> Callable[[V], None]:
        """In the transaction of a new value: a callback for after the commit.

        It stores the value, unless another change came first.
        """
        cache = tiers()
        name = self._name(key, cache)
        token = cache.before_change([name])

        def store(value: V) -> None:
            item = make(Kind.VALUE, self.encode(value), self.jittered_ttl())
            cache.fill(token, {name.encode(): item})

        return store

    def renew(self, key: K, value: V, *, is_older: Callable[[V], bool]) -> bool:
        """After a commit: replace an older cached value by this one, however many writers there are.

        When that fails, nothing older is left to be read, and the next reader loads. Whether all processes will read
        this value or a newer one.
        """
        cache, data = tiers(), self.encode(value)

        def step(cached: bytes) -> bytes:
            with suppress(ValueError):
                return data if is_older(self.decode(cached)) else cached
            return data

        name, ttl_seconds = self._name(key, cache), self.jittered_ttl()
        cache.update(name, step, ttl_seconds=ttl_seconds, tries=RENEW_TRIES)
        return cache.announce_missed()

    def forget(self, keys: Collection[K]) -> bool:
        """After a commit: delete at most 1,000 values; whether all processes will miss them."""
        self.delete_many(keys)
        return tiers().announce_missed()

    def names(self, keys: Iterable[K], cache: TieredCache) -> dict[str, K]:
        """Keys by their names in Memcached."""
        epoch = cache.topology.epochs.get(self.family or self.name, 0)
        prefix = f"{self.name}:{self.version}.{epoch}:"
        return {prefix + self.key_of(key): key for key in keys}

    def jittered_ttl(self) -> int:
        return max(round(self.ttl_seconds * random.uniform(1 - TTL_JITTER, 1)), 1)  # noqa: S311 -- not a secret

    def _name(self, key: K, cache: TieredCache) -> str:
        return next(iter(self.names([key], cache)))


def name_of_pair(pair: tuple[object, object]) -> str:
    """A `key_of` for an id with a revision or an epoch."""
    return f"{pair[0]}.{pair[1]}"


def append_to_each(kinds: Sequence[ReadThrough[K, Any]], key: K, data: bytes) -> None:
    """Append bytes to the cached values of a key in several kinds, without waiting.

    For values that tell whether something was appended that they have already, or something before it was lost.
    """
    cache = tiers()
    cache.append_many({name: data for kind in kinds for name in kind.names([key], cache)})


@dataclass
class ReadThroughCall(Generic[K, V]):
    """One call of `get_many`: picks the values of its kind from a read."""

    kind: ReadThrough[K, V]
    cache: TieredCache
    read: Read
    names: dict[str, K]
    load: Callable[[list[K]], dict[K, V]]
    accept: Callable[[K, V], bool] | None

    def run(self, *, refill: bool = True) -> dict[K, V]:
        """The values of all keys. `refill`: also store them in the layers above; once per read, by its last call."""
        self.values: dict[K, V] = {}
        names = self.read.names.items()
        self.keys = {raw: self.names[name] for raw, name in names if name in self.names}
        self.unusable: dict[bytes, str] = {}  # why the first item of a key was
        self.absent: set[bytes] = set()
        missing = self._accept_all()
        self._count(missing)
        if len(self.keys) < len(self.names):
            accepted = set(self.read.names.values())
            refused = [key for name, key in self.names.items() if name not in accepted]
            self.values |= self.load(refused)  # Memcached does not take such keys
        if missing and self.kind.single_flight:
            load_once(self.cache, self.read, missing, load=self._load, accept=self._accept_item)
        elif missing:
            self.cache.fill(self.read, self._load(missing))
        if refill:
            self.cache.refill(self.read)
        return self.values

    def _accept_all(self) -> list[bytes]:
        """Decode what was read, looking further down for unusable items; the keys that are missing."""
        missing: list[bytes] = []
        pending: Collection[bytes] = self.keys
        while pending:
            missing += [raw for raw in pending if raw not in self.read.items]
            pending = self._decode_many([raw for raw in pending if raw in self.read.items])
            if pending:
                self.cache.read_below(self.read, pending)
        return missing

    def _decode_many(self, raws: list[bytes]) -> list[bytes]:
        """Decode the items of keys; the keys whose items are unusable."""
        decode_many, items = self.kind.decode_many, self.read.items
        if decode_many is None:
            return [raw for raw in raws if not self._accept_item(raw)]
        values = decode_many([items[raw].data for raw in raws])
        return [
            raw
            for raw, value in zip(raws, values, strict=True)
            if not self._is_absent(raw) and not self._accept_value(raw, value)
        ]

    def _is_absent(self, raw: bytes) -> bool:
        """Whether the item of a key is a negative entry; notes that."""
        if not self.read.items[raw].flags & ABSENT:
            return False
        self.absent.add(raw)
        return True

    def _accept_item(self, raw: bytes) -> bool:
        """Whether the item of a key is usable."""
        item = self.read.items[raw]
        if item.flags & ABSENT:
            self.absent.add(raw)
            return True
        try:
            value = self.kind.decode(item.data)
        except Exception:  # noqa: BLE001 -- whatever a codec makes of garbage, it is a miss
            value = None
        if value is not None and self.accept is None:
            self.values[self.keys[raw]] = value
            return True
        return self._accept_value(raw, value)

    def _accept_value(self, raw: bytes, value: V | None) -> bool:
        """Whether a value, None for garbage, is usable."""
        if value is None:
            self.unusable.setdefault(raw, stats.GARBAGE)
            return False
        key = self.keys[raw]
        if self.accept is not None and not self.accept(key, value):
            self.unusable.setdefault(raw, stats.STALE)
            return False
        self.values[key] = value
        return True

    def _load(self, missing: list[bytes]) -> Items:
        """Load the missing keys; the items to store."""
        loaded = self.load([self.keys[raw] for raw in missing])
        self.values |= loaded
        ttl_seconds, items = self.kind.jittered_ttl(), {}
        for raw in missing:
            key = self.keys[raw]
            if key in loaded:
                items[raw] = make(Kind.VALUE, self.kind.encode(loaded[key]), ttl_seconds)
            elif self.kind.negative_ttl_seconds:
                items[raw] = make(Kind.ABSENT, b"", self.kind.negative_ttl_seconds)
        return items

    def _count(self, missing: Collection[bytes]) -> None:
        """Count each key once: by its final result, or by why it is missing."""
        outcomes = Counter(self.unusable.get(raw, stats.MISS) for raw in missing)
        outcomes |= {stats.HIT: len(self.values), stats.NEGATIVE: len(self.absent)}
        stats.count(self.kind.name, outcomes)


COMPRESS_FROM = 512
LEVEL = 3

_HEADER = struct.Struct("<BI")
MAX_PACKED_IDS = 10_000
_PLAIN, _ZSTD = 0, 1


class _Contexts(threading.local):
    """A zstd context belongs to one thread."""

    def __init__(self) -> None:
        parameters = zstandard.ZstdCompressionParameters(
            compression_level=LEVEL,
            format=zstandard.FORMAT_ZSTD1_MAGICLESS,
            write_content_size=True,
        )
        self.compressor = zstandard.ZstdCompressor(compression_params=parameters)
        self.decompressor = zstandard.ZstdDecompressor(format=zstandard.FORMAT_ZSTD1_MAGICLESS)


_contexts = _Contexts()


def pack(value: bytes) -> bytes:
    if len(value) >= COMPRESS_FROM:
        compressed = _contexts.compressor.compress(value)
        if len(compressed) < len(value):
            return _seal(_ZSTD, compressed)
    return _seal(_PLAIN, value)


def unpack(data: bytes, *, max_bytes: int) -> bytes:
    """ValueError when the envelope is damaged, of an unknown form, or the value larger than `max_bytes`."""
    if len(data) < _HEADER.size:
        raise ValueError("no envelope")
    form, checksum = _HEADER.unpack_from(data)
    rest = data[_HEADER.size :]
    if form not in (_PLAIN, _ZSTD) or checksum != zlib.crc32(rest, form):
        raise ValueError("a damaged or unknown envelope")
    if form == _ZSTD:
        return _decompress(rest, max_bytes)
    if len(rest) > max_bytes:
        raise ValueError("too large")
    return rest


def pack_ids(ids: Iterable[int]) -> bytes:
    """A list of ids, eight bytes each."""
    numbers = list(ids)
    return pack(struct.pack(f"<{len(numbers)}Q", *numbers))


def unpack_ids(data: bytes) -> tuple[int, ...]:
    """ValueError when the bytes are something else, or more than `MAX_PACKED_IDS`."""
    value = unpack(data, max_bytes=8 * MAX_PACKED_IDS)
    if len(value) % 8:
        raise ValueError("not a list of ids")
    return struct.unpack(f"<{len(value) // 8}Q", value)


@dataclass(frozen=True, slots=True)
class NewestIds:
    """The ids that somebody marked, complete from `floor` on."""

    ids: frozenset[int] = frozenset()
    floor: int = 0


def pack_newest_ids(newest: NewestIds) -> bytes:
    return pack_ids((newest.floor, *sorted(newest.ids)))


def unpack_newest_ids(data: bytes) -> NewestIds:
    """ValueError as for `unpack_ids`, and without a floor."""
    floor, *ids = unpack_ids(data)
    return NewestIds(frozenset(ids), floor)


def pack_number(number: int) -> bytes:
    return pack(b"%d" % number)


def unpack_number(data: bytes) -> int:
    """ValueError when the bytes are something else."""
    return int(unpack(data, max_bytes=20))


def _seal(form: int, rest: bytes) -> bytes:
    return _HEADER.pack(form, zlib.crc32(rest, form)) + rest


def _decompress(data: bytes, max_bytes: int) -> bytes:
    try:
        frame = zstandard.get_frame_parameters(data, format=zstandard.FORMAT_ZSTD1_MAGICLESS)
        if not 0 < frame.content_size <= max_bytes:  # unknown is the largest of all numbers
            raise ValueError("too large")
        value = _contexts.decompressor.decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise ValueError("not compressed by zstd") from error
    if len(value) != frame.content_size:
        raise ValueError("a damaged frame")
    return value


class CachedDecoder(Generic[V]):
    """A decoder that caches its most recently used results, of input up to `max_bytes`.

    Two generations of up to `maximum` results each: when the young one is full, the old one goes. Thread-safe: two
    threads may decode the same bytes at once. Results are shared: treat them as immutable. Errors are not cached.
    """

    def __init__(
        self, decode: Callable[[bytes], V], *, maximum: int, max_bytes: int = 4096
    ) -> None:
        self._decode, self._maximum, self._max_bytes = decode, maximum, max_bytes
        self._young: dict[bytes, V] = {}
        self._old: dict[bytes, V] = {}

    def __call__(self, data: bytes) -> V:
        value = self._young.get(data)
        if value is not None:
            return value
        value = self._old.get(data)
        if value is None:
            value = self._decode(data)
        if len(data) <= self._max_bytes:
            self._store(data, value)
        return value

    def _store(self, data: bytes, value: V) -> None:
        if len(self._young) >= self._maximum:
            self._young, self._old = {}, self._young
        self._young[data] = value

    def clear(self) -> None:
        self._young, self._old = {}, {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)


Future = Callable[[], T]  # call it after `execute`


@dataclass(slots=True)
class _QueuedRead:
    """Queued reads of one kind of value in Memcached."""

    kind: ReadThrough[Any, Any]
    names: dict[str, Any]
    load: Callable[[list[Any]], dict[Any, Any]]
    accept: Callable[[Any, Any], bool] | None
    stage: str
    values: dict[Any, Any] = field(default_factory=dict)


@dataclass(slots=True)
class QueuedCommands:
    """Queued commands of one class of data in Redis.

    `Batch.execute` sets the answers, errors of refused commands among them, or the error of the server. `has_failed`:
    no answer, or an error among them.
    """

    commands: Sequence[Command]
    stages: Sequence[str]
    answers: list[Any] = field(default_factory=list)
    error: RedisError | None = None
    has_failed: bool = False

    def raise_error(self) -> None:
        """RedisError when the server did not answer, or refused a command."""
        if self.error is not None:
            raise self.error
        raise_first_error(self.answers)


class Batch:
    """One round trip: queue reads, call `execute`, then look at the results."""

    def __init__(self) -> None:
        self.cache: TieredCache = tiers()
        self.read: Read | None = None
        self.is_current = False  # as `execute` has checked
        self._reads: list[_QueuedRead] = []
        self._servers: dict[str, tuple[Redis, list[QueuedCommands]]] = {}
        self._pending: list[tuple[PendingCommands, list[QueuedCommands]]] = []
        self._collect_read: Callable[[], Read]
        self._revision_check: QueuedCommands | None = None
        self._began = 0.0

    def get_many(
        self,
        kind: ReadThrough[K, V],
        keys: Collection[K],
        load: Callable[[list[K]], dict[K, V]],
        *,
        accept: Callable[[K, V], bool] | None = None,
        stage: str = "",
    ) -> Future[dict[K, V]]:
        """Queue `kind.get_many`; missing values are loaded by `execute`."""
        queued = _QueuedRead(kind, kind.names(keys, self.cache), load, accept, stage)
        self._reads.append(queued)
        return partial(getattr, queued, "values")

    def commands(
        self, client: Redis, commands: Sequence[Command], *, stages: Sequence[str] = ()
    ) -> QueuedCommands:
        """Queue commands for a Redis; of refused commands the errors are among the answers."""
        queued = QueuedCommands(commands, stages)
        self._servers.setdefault(server_of(client), (client, []))[1].append(queued)
        return queued

    def execute(self, *, check_revisions: bool = False) -> None:
        """Send everything, wait for all answers, and load values that Memcached did not have.

        `check_revisions`: afterwards `is_current` says whether Memcached is current, including the values of this
        batch: False where no Memcached is configured, or Redis does not answer. A node that is away has nothing stale.
        """
        self._send(check_revisions=check_revisions)
        self._collect()

    def _send(self, *, check_revisions: bool) -> None:
        if check_revisions:
            commands = [("HGETALL", GENERATIONS_KEY), ("GET", topology_listener.KEY)]
            self._revision_check = self.commands(configuration(), commands)
        self._began = perf_counter()
        for client, queued in self._servers.values():
            commands = [command for part in queued for command in part.commands]
            self._pending.append((PendingCommands(client, commands), queued))
        names = [name for queued in self._reads for name in queued.names]
        self._collect_read = self.cache.ask(names)

    def _collect(self) -> None:
        try:
            read = self.read = self._collect_read()
            stats.spend([queued.stage for queued in self._reads], perf_counter() - self._began)
            for pending, queued in self._pending:
                self._assign(pending, queued)
        except BaseException:
            for pending, _queued in self._pending:
                pending.discard()
            raise
        if self._revision_check is not None:
            self.is_current = self._has_current(self._revision_check)
        for each in self._reads:
            call = ReadThroughCall(each.kind, self.cache, read, each.names, each.load, each.accept)
            each.values = call.run(refill=each is self._reads[-1])

    def _assign(self, pending: PendingCommands, queued: Sequence[QueuedCommands]) -> None:
        try:
            answers = pending.collect()
        except RedisError as error:
            for part in queued:
                part.error, part.has_failed = error, True
            return
        for part in queued:
            count = len(part.commands)
            part.answers, answers = answers[:count], answers[count:]
            part.has_failed = any(isinstance(answer, RedisError) for answer in part.answers)
        stages = [name for part in queued for name in part.stages]
        stats.spend(stages, perf_counter() - self._began)

    def _has_current(self, check: QueuedCommands) -> bool:
        """Whether the nodes of Memcached and their topology are those that Redis names."""
        if check.has_failed:
            return False
        fields, text = check.answers
        lowest = parse_generations(fields)
        for node in self.cache.nodes():
            node.health.learn(lowest.get(node.name, 0))
        return (
            self.cache.topology.version == _version_of(text)
            and self.cache.is_configured
            and (self.read is None or self.cache.is_current(self.read))
        )


# Queues writes to a batch; its result looks at their answers after `execute`, and handles errors.
QueueWrites = Callable[[Batch], Callable[[], None]]


def write_together(writes: Iterable[QueueWrites]) -> None:
    """Send the writes of several owners in one round trip."""
    batch = Batch()
    checks = [queue(batch) for queue in writes]
    batch.execute()
    for check in checks:
        check()


@lru_cache(maxsize=4)
def _version_of(text: bytes | None) -> int:
    """The version of a published topology; that of the settings when none is published; -1 for garbage."""
    try:
        return int(json.loads(text)["version"]) if text else configured_topology().version
    except (ValueError, KeyError, TypeError):
        return -1
