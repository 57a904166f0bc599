"""Writing to the tiers: Main first, Backup in its place, then all others at once by noreply. Keys are bytes."""

import time
from collections.abc import Collection

from feedcache.memcached.layer import Items, Layer, bounded, make, set_everywhere
from feedcache.memcached.protocol import Item, Kind
from feedcache.memcached.reads import Token

TOMBSTONE_SECONDS = 10  # longer than anybody who read the old value may take to refill it


class Writes:
    """The writing half of the tiers."""

    def __init__(self, main: Layer, backup: Layer, groups: tuple[Layer, ...]) -> None:
        self._main = main
        self._backup = backup
        self._groups = groups

    def mark_deleted(self, keys: Collection[bytes]) -> bool:
        """Put tombstones; whether each is in Main or Backup."""
        return self.store(dict.fromkeys(keys, _tombstone()), ttl_seconds=TOMBSTONE_SECONDS)

    def store(self, items: Items, *, ttl_seconds: int) -> bool:
        """Set; whether each is in Main or Backup. What is in neither is not set in L1, but what L1 has is buried."""
        stored = self._main.write(b"set", items, ttl_seconds=ttl_seconds)
        left = {key: item for key, item in items.items() if key not in stored}
        stored_behind = self._backup.write(b"set", left, ttl_seconds=ttl_seconds) if left else set()
        done = {key: items[key] for key in (*stored, *stored_behind)}
        failed = dict.fromkeys(left.keys() - stored_behind, _tombstone())
        set_everywhere(
            [
                (self._backup, {key: items[key] for key in stored}, ttl_seconds),
                *((group, done, ttl_seconds) for group in self._groups),
                *((group, failed, TOMBSTONE_SECONDS) for group in self._groups),
            ]
        )
        return not failed

    def gets(self, key: bytes) -> tuple[bytes, Token] | None:
        """A value and its token, from Main, from Backup only while Main does not answer."""
        answered, found = _gets(self._main, key)
        if answered and found is None and self._promote(key):
            answered, found = _gets(self._main, key)
        return found if answered else _gets(self._backup, key)[1]

    def cas(self, key: bytes, value: bytes, token: Token, *, ttl_seconds: int) -> bool:
        """Replace what was read with a token where it was read, then set all others.

        Of two who succeed one after the other, the first may reach the other layers last. So when these have it, the base
        is looked at once more: whoever finds a later value there buries the copies.
        """
        base = token.layer
        if base not in (self._main, self._backup) or base.slot_of(key).node is not token.node:
            return False  # the topology changed
        item = make(Kind.VALUE, value, ttl_seconds)
        chosen = {key: item._replace(token=token.number)}
        if not base.write(b"cas", chosen, ttl_seconds=ttl_seconds):
            return False
        others = [one for one in (self._main, self._backup, *self._groups) if one is not base]
        set_everywhere([(layer, {key: item}, ttl_seconds) for layer in others])
        now = base.read([key]).items.get(key)
        if now is not None and now.data != value:
            set_everywhere([(layer, {key: _tombstone()}, TOMBSTONE_SECONDS) for layer in others])
        return True

    def _promote(self, key: bytes) -> bool:
        """Bring what only Backup has to Main, so that all who change it meet there; whether there is something now."""
        item = self._backup.read([key]).items.get(key)
        if item is None or item.kind != Kind.VALUE:
            return False
        ttl_seconds = bounded(item.ends - int(time.time())) if item.ends else TOMBSTONE_SECONDS
        self._main.write(b"add", {key: item._replace(token=0)}, ttl_seconds=ttl_seconds)
        return True


def _gets(layer: Layer, key: bytes) -> tuple[bool, tuple[bytes, Token] | None]:
    """Whether a layer answered, and what."""
    if not layer.slots:
        return False, None
    reading, node = layer.read([key]), layer.slot_of(key).node
    item = reading.items.get(key)
    if item is None or item.kind != Kind.VALUE:
        return node in reading.nodes, None
    return True, (item.data, Token(layer, node, item.token))


def _tombstone() -> Item:
    return make(Kind.GONE, b"", TOMBSTONE_SECONDS)
