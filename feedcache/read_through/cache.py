"""Caches one kind of value in Memcached: gets many values, loads and stores missing ones, and changes values after a
commit.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from feedcache import stats
from feedcache.memcached_node import Item, Kind
from feedcache.memcached_tiers import ABSENT, Items, Read, TieredCache, make, tiers, write_in_force
from feedcache.single_flight import load_once

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

TTL_JITTER = 0.1  # so that entries written together do not expire together
NEGATIVE_TTL_SECONDS = 5
RENEW_TRIES = 2  # after which a value with concurrent writers is deleted


@dataclass(frozen=True)
class ReadThrough(Generic[K, V]):
    """One kind of value cached in Memcached.

    `version` is the version of the byte format: raise it when the codec changes, instead of flushing. `key_of` must
    return printable ASCII without spaces: ids or a hash, never text from a client. A value whose key contains its
    revision can never be stale.

    `family` is the class of data in the topology, which staff can flush as a whole. Missing values are cached as
    missing for `negative_ttl_seconds` (0: not at all), or until the key is set or deleted. With `single_flight`, if
    many callers miss a key at the same time, only one of them loads it (see `single_flight`). `decode_many` decodes
    many values faster than `decode`, and returns None for each value that `decode` would refuse. With `is_personal`,
    each value is read by only one account; a read of nothing but such values skips L1, which is for values with many
    readers.
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
    is_personal: bool = False
    decode_many: Callable[[Sequence[bytes]], Sequence[V | None]] | None = None

    def get_many(
        self,
        keys: Collection[K],
        load: Callable[[list[K]], dict[K, V]],
        *,
        accept: Callable[[K, V], bool] | None = None,
    ) -> dict[K, V]:
        """The values of at most 1,000 keys; those without a value are left out.

        `load` receives the missing keys. Keys that another caller is loading are left to that caller; if it
        fails or is too slow, they are passed to `load` in further calls. A cached value that `accept` refuses, because
        its revision is outdated, is a miss.
        """
        cache = tiers()
        names = self.names(keys, cache)
        if not names:
            return {}
        read = cache.read(names, uses_l1=not self.is_personal)
        return ReadThroughCall(self, cache, read, names, load, accept).run()

    def set_many(self, values: dict[K, V]) -> bool:
        """Store committed values; returns whether all of them are in Main or Backup."""

        def write(cache: TieredCache) -> bool:
            names = self.names(values, cache)
            named = {name: self.encode(values[key]) for name, key in names.items()}
            return cache.set_many(named, ttl_seconds=self.jittered_ttl())

        return write_in_force(write)

    def delete_many(self, keys: Collection[K]) -> bool:
        """After a commit: delete at most 1,000 values; returns whether each deletion is in Main or Backup.

        A node that missed the deletion may still be read until that is announced; `forget` announces it at once.
        """
        return write_in_force(lambda cache: cache.delete_many(self.names(keys, cache)))

    def peek_many(self, keys: Collection[K]) -> dict[K, V]:
        """The cached values of any revision, without loading missing ones; garbage is left out. At most 1,000 keys."""
        cache = tiers()
        names = self.names(keys, cache)
        values = {}
        for name, data in cache.get_many(names).items():
            with suppress(ValueError):
                values[names[name]] = self.decode(data)
        return values

    def layers_with(self, key: K) -> list[tuple[str, bool]]:
        """Each Memcached layer in the order of reads, and whether it has a value for this key. Refills no layer."""
        cache = tiers()
        name = self.name_of(key, cache).encode()
        return [
            (layer.name, _is_value(layer.read([name]).items.get(name)))
            for layer in (*cache.groups, cache.main, cache.backup)
            if layer.slots
        ]

    def prepare(self, key: K) -> Callable[[V], None]:
        """Call this in the transaction that creates a value, and call the returned function after the commit.

        The returned function stores the value, unless another change came first.
        """
        cache = tiers()
        name = self.name_of(key, cache)
        token = cache.before_change([name])

        def store(value: V) -> None:
            item = make(Kind.VALUE, self.encode(value), self.jittered_ttl())
            cache.fill(token, {name.encode(): item})

        return store

    def renew(self, key: K, value: V, *, is_older: Callable[[V], bool]) -> bool:
        """After a commit: replace an older cached value with this one, safely with several writers.

        If that fails, the value is deleted, and the next reader loads it. Returns whether all processes will read this
        value or a newer value.
        """
        data, ttl_seconds = self.encode(value), self.jittered_ttl()

        def step(cached: bytes) -> bytes:
            with suppress(ValueError):
                return data if is_older(self.decode(cached)) else cached
            return data

        def write(cache: TieredCache) -> bool:
            name = self.name_of(key, cache)
            cache.update(name, step, ttl_seconds=ttl_seconds, tries=RENEW_TRIES)
            return cache.announce_missed()

        return write_in_force(write)

    def forget(self, keys: Collection[K]) -> bool:
        """After a commit: delete at most 1,000 values; returns whether all processes will miss them."""

        def write(cache: TieredCache) -> bool:
            cache.delete_many(self.names(keys, cache))
            return cache.announce_missed()

        return write_in_force(write)

    def names(self, keys: Iterable[K], cache: TieredCache) -> dict[str, K]:
        """The keys, by their names in Memcached."""
        epoch = cache.topology.epochs.get(self.family or self.name, 0)
        prefix = f"{self.name}:{self.version}.{epoch}:"
        return {prefix + self.key_of(key): key for key in keys}

    def jittered_ttl(self) -> int:
        return max(round(self.ttl_seconds * random.uniform(1 - TTL_JITTER, 1)), 1)  # noqa: S311 -- not a secret

    def name_of(self, key: K, cache: TieredCache) -> str:
        """The name of one key in Memcached."""
        return next(iter(self.names([key], cache)))


def _is_value(item: Item | None) -> bool:
    return item is not None and item.kind == Kind.VALUE


def name_of_pair(pair: tuple[object, object]) -> str:
    """A `key_of` for an id with a revision or an epoch."""
    return f"{pair[0]}.{pair[1]}"


@dataclass
class ReadThroughCall(Generic[K, V]):
    """A call of `get_many`, alone or in a `Batch`, whose calls share one read. It picks its own keys from the read."""

    kind: ReadThrough[K, V]
    cache: TieredCache
    read: Read
    names: dict[str, K]
    load: Callable[[list[K]], dict[K, V]]
    accept: Callable[[K, V], bool] | None

    def run(self, *, refill: bool = True) -> dict[K, V]:
        """The values of all keys that exist. With `refill`, items in lower tiers are also copied to the tiers above.

        In a batch, only the last call has `refill`.
        """
        self.values: dict[K, V] = {}
        raws = self.read.names
        self.keys = {raws[name]: key for name, key in self.names.items() if name in raws}
        self.unusable: dict[bytes, str] = {}  # why the first item of a key was unusable
        self.absent: set[bytes] = set()
        missing = self._accept_all()
        self._count(missing)
        if len(self.keys) < len(self.names):
            refused = [key for name, key in self.names.items() if name not in raws]
            self.values |= self.load(refused)  # Memcached does not accept such keys
        if missing and self.kind.single_flight:
            load_once(self.cache, self.read, missing, load=self._load, accept=self._accept_one)
        elif missing:
            self.cache.fill(self.read, self._load(missing))
        if refill:
            self.cache.refill(self.read)
        return self.values

    def _accept_all(self) -> list[bytes]:
        """Decode the items that were read, look in lower tiers if one is unusable, and return the missing keys."""
        missing: list[bytes] = []
        pending: Collection[bytes] = self.keys
        while pending:
            found = [raw for raw in pending if raw in self.read.items]
            if len(found) < len(pending):
                missing += [raw for raw in pending if raw not in self.read.items]
            pending = self._accept(found)
            if pending:
                self.cache.read_below(self.read, pending)
        return missing

    def _accept_one(self, raw: bytes) -> bool:
        """Whether the item of a key is usable."""
        return not self._accept([raw])

    def _accept(self, raws: Sequence[bytes]) -> list[bytes]:
        """Take the usable items of keys; returns the keys with unusable ones."""
        items, accept, unusable = self.read.items, self.accept, list[bytes]()
        values = self._decoded([items[raw].data for raw in raws])
        for raw, value in zip(raws, values, strict=True):
            key = self.keys[raw]
            if items[raw].flags & ABSENT:  # a negative entry
                self.absent.add(raw)
            elif value is not None and (accept is None or accept(key, value)):
                self.values[key] = value
            else:
                unusable.append(raw)
                self.unusable.setdefault(raw, stats.GARBAGE if value is None else stats.STALE)
        return unusable

    def _decoded(self, data: Sequence[bytes]) -> Sequence[V | None]:
        """The values of these bytes; None for garbage."""
        if self.kind.decode_many is not None:
            return self.kind.decode_many(data)
        decode, values = self.kind.decode, list[V | None]()
        for one in data:
            try:
                values.append(decode(one))
            except Exception:  # noqa: BLE001 -- garbage is a miss, whatever the codec raises
                values.append(None)
        return values

    def _load(self, missing: list[bytes]) -> Items:
        """Load the missing keys; returns the items to store."""
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
        """Count each key once: as a hit, as cached as missing, or by the reason why it must be loaded."""
        outcomes = {stats.HIT: len(self.values), stats.NEGATIVE: len(self.absent)}
        if missing:
            outcomes |= Counter(self.unusable.get(raw, stats.MISS) for raw in missing)
        stats.count(self.kind.name, outcomes)
