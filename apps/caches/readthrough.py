"""Read through the tiers: ask for many, load what is missing, store it."""

import random
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from apps.caches import stats
from apps.caches.layers import Items, make
from apps.caches.reads import Read
from apps.caches.singleflight import fly
from apps.caches.tiers import TieredCache, tiers
from apps.caches.wire import Kind

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

TTL_JITTER = 0.1  # entries written together do not expire together
NEGATIVE_TTL_SECONDS = 5


@dataclass(frozen=True)
class ReadThrough(Generic[K, V]):
    """One kind of value kept in Memcached.

    `version` is that of the byte form: raise it when the codec changes, never flush. `key_of` must yield
    ASCII without blanks, made of typed ids only; a key that contains the value's own version can never be stale.

    `family` is the class of data of the topology that this belongs to: staff flush all of a class by its epoch.
    That a key has nothing is remembered for `negative_ttl_seconds` (0: not at all); whatever is stored later
    takes the place. `single_flight`: of many who miss a key at once, one loads (see `singleflight`).
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

    def get_many(self, keys: Collection[K], load: Callable[[list[K]], dict[K, V]]) -> dict[K, V]:
        """The values of all keys that exist. At most 1,000 keys.

        `load` is called with the missing ones; of those that another caller is loading, with what that one did not
        bring in time: so seldom more than once.
        """
        cache = tiers()
        names = {self._name(key, cache): key for key in keys}
        if not names:
            return {}
        return _Filling(self, cache, cache.read(names), names, load).run()

    def set_many(self, values: dict[K, V]) -> bool:
        """Store values known to be committed; whether all are in Main or Backup."""
        cache = tiers()
        named = {self._name(key, cache): self.encode(value) for key, value in values.items()}
        return cache.set_many(named, ttl_seconds=self.jittered_ttl())

    def delete_many(self, keys: Collection[K]) -> bool:
        """Forget values after a committed change; nothing older than now will be read."""
        cache = tiers()
        return cache.delete_many([self._name(key, cache) for key in keys])

    def jittered_ttl(self) -> int:
        """A time to live for what is stored now."""
        return max(round(self.ttl_seconds * random.uniform(1 - TTL_JITTER, 1)), 1)  # noqa: S311 -- not a secret

    def _name(self, key: K, cache: TieredCache) -> str:
        epoch = cache.topology.epoch_of(self.family or self.name)
        return f"{self.name}:{self.version}.{epoch}:{self.key_of(key)}"


@dataclass
class _Filling(Generic[K, V]):
    """One call of `get_many`."""

    kind: ReadThrough[K, V]
    cache: TieredCache
    read: Read
    names: dict[str, K]
    load: Callable[[list[K]], dict[K, V]]

    def run(self) -> dict[K, V]:
        """What there is of all keys."""
        self.found: dict[K, V] = {}
        self.keys = {raw: self.names[name] for raw, name in self.read.names.items()}
        self.garbage: list[bytes] = []
        missing = [raw for raw in self.keys if not self._take(raw)]
        self._count(len(missing))
        if self.garbage:
            self._clear_away()
        unfit = [key for name, key in self.names.items() if name.encode() not in self.keys]
        if unfit:  # Memcached takes no such key
            self.found |= self.load(unfit)
        if missing and self.kind.single_flight:
            fly(self.cache, self.read, missing, load=self._load, accept=self._take)
        elif missing:
            self.cache.fill(self.read, self._load(missing))
        return self.found

    def _take(self, raw: bytes) -> bool:
        """Whether what was read for a key answers for it."""
        item = self.read.items.get(raw)
        if item is None:
            return False
        if item.kind == Kind.ABSENT:
            return True
        try:
            self.found[self.keys[raw]] = self.kind.decode(item.data)
        except Exception:  # noqa: BLE001 -- whatever a codec makes of garbage, it is a miss
            self.garbage.append(raw)
            return False
        return True

    def _load(self, missing: list[bytes]) -> Items:
        """Load, and say what to store."""
        loaded = self.load([self.keys[raw] for raw in missing])
        self.found |= loaded
        ttl_seconds, items = self.kind.jittered_ttl(), {}
        for raw in missing:
            key = self.keys[raw]
            if key in loaded:
                items[raw] = make(Kind.VALUE, self.kind.encode(loaded[key]), ttl_seconds)
            elif self.kind.negative_ttl_seconds:
                items[raw] = make(Kind.ABSENT, b"", self.kind.negative_ttl_seconds)
        return items

    def _clear_away(self) -> None:
        """Nothing may be added where garbage lies: make it a tombstone, and know its token."""
        names = [self.read.names[raw] for raw in self.garbage]
        self.cache.delete_many(names)
        again = self.cache.read(names)
        for raw in self.garbage:
            self.read.items.pop(raw, None)
        self.read.nodes |= again.nodes
        for layer, tokens in again.tombs.items():
            self.read.tombs.setdefault(layer, {}).update(tokens)

    def _count(self, missing: int) -> None:
        name, garbage = self.kind.name, len(self.garbage)
        negative = sum(item.kind == Kind.ABSENT for item in self.read.items.values())
        stats.count(name, stats.HIT, len(self.keys) - missing - negative)
        stats.count(name, stats.NEGATIVE, negative)
        stats.count(name, stats.GARBAGE, garbage)
        stats.count(name, stats.MISS, missing - garbage)
