"""Read through the tiers: ask for many, load what is missing, store it."""

import random
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from feedcache import stats
from feedcache.memcached.layer import Items, make
from feedcache.memcached.protocol import Kind
from feedcache.memcached.reads import ABSENT, Read
from feedcache.memcached.tiers import CAS_TRIES, TieredCache, tiers
from feedcache.single_flight import load_once

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

TTL_JITTER = 0.1  # entries written together do not expire together
NEGATIVE_TTL_SECONDS = 5
RENEW_TRIES = 2  # whoever meets more writers than that leaves it to the next reader


@dataclass(frozen=True)
class ReadThrough(Generic[K, V]):
    """One kind of value kept in Memcached.

    `version` is that of the byte form: raise it when the codec changes, never flush. `key_of` must yield
    ASCII without blanks, made of typed ids only; a key that contains the value's own version can never be stale.

    `family` is the class of data of the topology that this belongs to: staff flush all of a class by its epoch.
    That a key has nothing is remembered for `negative_ttl_seconds` (0: not at all); whatever is stored later
    takes the place. `single_flight`: of many who miss a key at once, one loads (see `singleflight`). `decode_many` is
    `decode` for many at once, where that is quicker; None for each value that it would refuse.
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

        `load` is called with the missing ones; of those that another caller is loading, with what that one did not
        bring in time: so seldom more than once. A stored value that `accept` refuses, because its revision is not the
        present one, is a miss.
        """
        cache = tiers()
        names = self.names(keys, cache)
        if not names:
            return {}
        return ReadThroughCall(self, cache, cache.read(names), names, load, accept).run()

    def set_many(self, values: dict[K, V]) -> bool:
        """Store values known to be committed; whether all are in Main or Backup."""
        cache = tiers()
        named = {name: self.encode(values[key]) for name, key in self.names(values, cache).items()}
        return cache.set_many(named, ttl_seconds=self.jittered_ttl())

    def delete_many(self, keys: Collection[K]) -> bool:
        """Forget values after a committed change; nothing older than now will be read."""
        cache = tiers()
        return cache.delete_many(self.names(keys, cache))

    def peek_many(self, keys: Collection[K]) -> dict[K, V]:
        """What is stored, whatever its revision; nothing is loaded, garbage is left out. At most 1,000 keys."""
        cache = tiers()
        names = self.names(keys, cache)
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

    def renew(self, key: K, value: V, *, is_older: Callable[[V], bool]) -> bool:
        """After a commit: a stored value that is older gives way to this one, however many do so at once.

        When that cannot be done, nothing older than now is left to be read, and the next reader loads. Whether everybody
        will see one or the other.
        """
        cache, data = tiers(), self.encode(value)

        def step(held: bytes) -> bytes:
            with suppress(ValueError):
                return data if is_older(self.decode(held)) else held
            return data

        name, ttl_seconds = self._name(key, cache), self.jittered_ttl()
        cache.update(name, step, ttl_seconds=ttl_seconds, tries=RENEW_TRIES)
        return cache.announce_missed()

    def forget(self, keys: Collection[K]) -> bool:
        """After a commit: nothing older than now will be read of these, at most 1,000; whether everybody knows."""
        self.delete_many(keys)
        return tiers().announce_missed()

    def _stepped(self, data: bytes, step: Callable[[V], V | None]) -> V | None:
        try:
            return step(self.decode(data))
        except ValueError:
            return None

    def names(self, keys: Iterable[K], cache: TieredCache) -> dict[str, K]:
        """Keys by what they are called in Memcached."""
        epoch = cache.topology.epoch_of(self.family or self.name)
        head, key_of = f"{self.name}:{self.version}.{epoch}:", self.key_of
        return {head + key_of(key): key for key in keys}

    def jittered_ttl(self) -> int:
        """A time to live for what is stored now."""
        return max(round(self.ttl_seconds * random.uniform(1 - TTL_JITTER, 1)), 1)  # noqa: S311 -- not a secret

    def _name(self, key: K, cache: TieredCache) -> str:
        return next(iter(self.names([key], cache)))


@dataclass
class ReadThroughCall(Generic[K, V]):
    """One call of `get_many`: of what was read, what is of this kind."""

    kind: ReadThrough[K, V]
    cache: TieredCache
    read: Read
    names: dict[str, K]
    load: Callable[[list[K]], dict[K, V]]
    accept: Callable[[K, V], bool] | None

    def run(self, *, refill: bool = True) -> dict[K, V]:
        """What there is of all keys. `refill` the layers above with what was read below, or leave it to the next one."""
        self.found: dict[K, V] = {}
        names = self.read.names.items()
        self.keys = {raw: self.names[name] for raw, name in names if name in self.names}
        self.of_no_use: dict[bytes, str] = {}  # what was wrong with the first entry of a key
        self.absent: set[bytes] = set()
        missing = self._accept_all()
        self._count(missing)
        if len(self.keys) < len(self.names):
            known = set(self.read.names.values())
            unfit = [key for name, key in self.names.items() if name not in known]
            self.found |= self.load(unfit)  # Memcached takes no such key
        if missing and self.kind.single_flight:
            load_once(self.cache, self.read, missing, load=self._load, accept=self._take)
        elif missing:
            self.cache.fill(self.read, self._load(missing))
        if refill:
            self.cache.refill(self.read)
        return self.found

    def _accept_all(self) -> list[bytes]:
        """Take what was read, looking further down where that is of no use; the keys for which there is nothing."""
        missing: list[bytes] = []
        pending: Collection[bytes] = self.keys
        while pending:
            missing += [raw for raw in pending if raw not in self.read.items]
            pending = self._decode_many([raw for raw in pending if raw in self.read.items])
            if pending:
                self.cache.read_below(self.read, pending)
        return missing

    def _decode_many(self, raws: list[bytes]) -> list[bytes]:
        """Take what was read for keys; those for which it is of no use."""
        decode_many, items = self.kind.decode_many, self.read.items
        if decode_many is None and self.accept is None:
            return self._decode_plain(raws)
        if decode_many is None:
            return [raw for raw in raws if not self._take(raw)]
        values = decode_many([items[raw].data for raw in raws])
        return [
            raw
            for raw, value in zip(raws, values, strict=True)
            if not (items[raw].flags & ABSENT and self._take(raw)) and not self._keep(raw, value)
        ]

    def _decode_plain(self, raws: list[bytes]) -> list[bytes]:
        """As `_take` does it for each: where nothing is asked of a value, all there is to do is to decode it."""
        decode, items, keys, found = self.kind.decode, self.read.items, self.keys, self.found
        refused = []
        for raw in raws:
            item = items[raw]
            try:
                value = None if item.flags & ABSENT else decode(item.data)
            except Exception:  # noqa: BLE001 -- whatever a codec makes of garbage, it is a miss
                value = None
            if value is not None:
                found[keys[raw]] = value
            elif not self._take(raw):
                refused.append(raw)
        return refused

    def _take(self, raw: bytes) -> bool:
        """Whether what was read for a key answers for it."""
        item = self.read.items[raw]
        if item.flags & ABSENT:
            self.absent.add(raw)
            return True
        try:
            value = self.kind.decode(item.data)
        except Exception:  # noqa: BLE001 -- whatever a codec makes of garbage, it is a miss
            return self._keep(raw, None)
        return self._keep(raw, value)

    def _keep(self, raw: bytes, value: V | None) -> bool:
        """Whether a value, None for garbage, answers for a key."""
        if value is None:
            self.of_no_use.setdefault(raw, stats.GARBAGE)
            return False
        key = self.keys[raw]
        if self.accept is not None and not self.accept(key, value):
            self.of_no_use.setdefault(raw, stats.STALE)
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
        return items

    def _count(self, missing: Collection[bytes]) -> None:
        """Each key once: what it was found as in the end, or why it was not."""
        name = self.kind.name
        stats.count(name, stats.HIT, len(self.found))
        stats.count(name, stats.NEGATIVE, len(self.absent))
        for raw in missing:
            stats.count(name, self.of_no_use.get(raw, stats.MISS))
