"""Read through a cache: ask for many, load what is missing, store it."""

import random
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from apps.caches.servers import memcached

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

TTL_JITTER = 0.1  # entries written together do not expire together


@dataclass(frozen=True)
class ReadThrough(Generic[K, V]):
    """One kind of value kept in Memcached.

    `version` is that of the byte form: raise it when the codec changes, never flush. `key_of` must yield
    ASCII without blanks, made of typed ids only; a key that contains the value's own version can never be stale.
    """

    name: str
    version: int
    ttl_seconds: int
    key_of: Callable[[K], str]
    encode: Callable[[V], bytes]
    decode: Callable[[bytes], V]

    def get_many(self, keys: Collection[K], load: Callable[[list[K]], dict[K, V]]) -> dict[K, V]:
        """The values of all keys that exist; `load` is called at most once, with the missing ones."""
        names = {self._name(key): key for key in keys}
        found = self._decoded(memcached().get_many(list(names)), names)
        missing = [key for key in keys if key not in found]
        if missing:
            loaded = load(missing)
            self.set_many(loaded)
            found |= loaded
        return found

    def set_many(self, values: dict[K, V]) -> None:
        """Store values known to be committed."""
        ttl = round(self.ttl_seconds * random.uniform(1 - TTL_JITTER, 1))  # noqa: S311 -- not a secret
        memcached().set_many(
            {self._name(key): self.encode(value) for key, value in values.items()}, ttl_seconds=ttl
        )

    def _name(self, key: K) -> str:
        return f"{self.name}:{self.version}:{self.key_of(key)}"

    def _decoded(self, raw: dict[str, bytes], names: dict[str, K]) -> dict[K, V]:
        values = {}
        for name, data in raw.items():
            try:
                values[names[name]] = self.decode(data)
            except (ValueError, KeyError, TypeError):
                continue  # garbage is a miss: it is loaded and written over
        return values
