"""Read through the tiers: ask for many, load what is missing, store it."""

import random
from collections.abc import Callable, Collection, Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from apps.caches import stats
from apps.caches.layers import Items, make
from apps.caches.reads import Read
from apps.caches.singleflight import fly
from apps.caches.tiers import CAS_TRIES, TieredCache, tiers
from apps.caches.wire import Item, Kind

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

    def get_many(
        self,
        keys: Collection[K],
        load: Callable[[list[K]], dict[K, V]],
        *,
        accept: Callable[[K, V], bool] | None = None,
    ) -> dict[K, V]:
        """The values of all keys that exist. At most 1,000 keys.

        `load` is called with the missing ones; of those that another caller is loading, with what that one did not
        bring in time: so seldom more than once. A stored value that `accept` refuses, because its revision is not the
        present one, is a miss that is written over.
        """
        cache = tiers()
        names = {self._name(key, cache): key for key in keys}
        if not names:
            return {}
        return _Filling(self, cache, cache.read(names), names, load, accept).run()

    def set_many(self, values: dict[K, V]) -> bool:
        """Store values known to be committed; whether all are in Main or Backup."""
        cache = tiers()
        named = {self._name(key, cache): self.encode(value) for key, value in values.items()}
        return cache.set_many(named, ttl_seconds=self.jittered_ttl())

    def delete_many(self, keys: Collection[K]) -> bool:
        """Forget values after a committed change; nothing older than now will be read."""
        cache = tiers()
        return cache.delete_many([self._name(key, cache) for key in keys])

    def peek_many(self, keys: Collection[K]) -> dict[K, V]:
        """What is stored, whatever its revision; nothing is loaded, garbage is left out. At most 1,000 keys."""
        cache = tiers()
        names = {self._name(key, cache): key for key in keys}
        values = {}
        for name, data in cache.get_many(names).items():
            with suppress(ValueError):
                values[names[name]] = self.decode(data)
        return values

    def change(self, key: K, step: Callable[[V], V | None]) -> bool:
        """Replace a value that is stored by what `step` makes of it, by gets and cas; whether that was done.

        Not done when `step` gives None or raises ValueError, or when others were quicker every time.
        """
        cache = tiers()
        name = self._name(key, cache)
        for _try in range(CAS_TRIES):
            found = cache.gets(name)
            changed = self._stepped(found[0], step) if found else None
            if found is None or changed is None:
                return False
            data = self.encode(changed)
            if cache.cas(name, data, found[1], ttl_seconds=self.jittered_ttl()):
                return True
        return False

    def _stepped(self, data: bytes, step: Callable[[V], V | None]) -> V | None:
        try:
            return step(self.decode(data))
        except ValueError:
            return None

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
    accept: Callable[[K, V], bool] | None

    def run(self) -> dict[K, V]:
        """What there is of all keys."""
        self.found: dict[K, V] = {}
        self.keys = {raw: self.names[name] for raw, name in self.read.names.items()}
        self.garbage: list[bytes] = []
        self.stale: set[bytes] = set()
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
        self._renew_l1()
        return self.found

    def _take(self, raw: bytes) -> bool:
        """Whether what was read for a key answers for it."""
        item = self.read.items.get(raw)
        if item is None:
            return False
        if item.kind == Kind.ABSENT:
            return True
        key = self.keys[raw]
        try:
            value = self.kind.decode(item.data)
        except Exception:  # noqa: BLE001 -- whatever a codec makes of garbage, it is a miss
            self.garbage.append(raw)
            return False
        if self.accept is not None and not self.accept(key, value):
            self.stale.add(raw)
            return False
        self.found[key] = value
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
        return self._without_stale(items)

    def _without_stale(self, items: dict[bytes, Item]) -> Items:
        """Nothing is added where something stale lies: that is written over, and the rest is left to add.

        Not cleared away before the load, as garbage is: somebody else may have written the present value since.
        """
        over = [raw for raw in self.stale if raw in items and items[raw].kind == Kind.VALUE]
        if over:
            values = {self.read.names[raw]: items.pop(raw).data for raw in over}
            self.cache.set_many(values, ttl_seconds=self.kind.jittered_ttl())
            self.stale.difference_update(over)
        return items

    def _renew_l1(self) -> None:
        """What was stale in L1 and right in Main would be a miss again and again."""
        group = self.read.group
        right = [raw for raw in self.stale if self.keys[raw] in self.found]
        if group and right:
            items = {raw: self.read.items[raw]._replace(token=0) for raw in right}
            group.tell(items, ttl_seconds=self.kind.jittered_ttl())

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
