"""Writes to the tiers: Main first, Backup in its place, then all other layers at once without replies. Keys are bytes."""

import time
from collections.abc import Collection

from feedcache.memcached.layer import Items, Layer, bounded, make, set_everywhere
from feedcache.memcached.protocol import Item, Kind
from feedcache.memcached.reads import Token

TOMBSTONE_SECONDS = 10  # longer than a reader of the old value may take to refill it


class Writes:
    def __init__(self, main: Layer, backup: Layer, groups: tuple[Layer, ...]) -> None:
        self._main = main
        self._backup = backup
        self._groups = groups

    def mark_deleted(self, keys: Collection[bytes]) -> bool:
        """Store tombstones; whether each is in Main or Backup."""
        return self.store(dict.fromkeys(keys, _tombstone()), ttl_seconds=TOMBSTONE_SECONDS)

    def store(self, items: Items, *, ttl_seconds: int) -> bool:
        """Whether each is in Main or Backup. Items in neither are not stored in L1: tombstones replace its copies."""
        in_main = self._main.write(b"set", items, ttl_seconds=ttl_seconds)
        rest = {key: item for key, item in items.items() if key not in in_main}
        in_backup = self._backup.write(b"set", rest, ttl_seconds=ttl_seconds) if rest else set()
        stored = {key: items[key] for key in (*in_main, *in_backup)}
        failed = dict.fromkeys(rest.keys() - in_backup, _tombstone())
        set_everywhere(
            [
                (self._backup, {key: items[key] for key in in_main}, ttl_seconds),
                *((group, stored, ttl_seconds) for group in self._groups),
                *((group, failed, TOMBSTONE_SECONDS) for group in self._groups),
            ]
        )
        return not failed

    def gets(self, key: bytes) -> tuple[bytes, Token] | None:
        """A value and its token, from Main; from Backup only while Main does not answer."""
        answered, value = _gets(self._main, key)
        if answered and value is None and self._promote(key):
            answered, value = _gets(self._main, key)
        return value if answered else _gets(self._backup, key)[1]

    def cas(self, key: bytes, value: bytes, token: Token, *, ttl_seconds: int) -> bool:
        """Replace a value where it was read, then in all other layers.

        Of two writers that succeed one after the other, the first may reach the other layers last. So after them the base
        is read once more: a writer that finds a later value there replaces the copies by tombstones.
        """
        base = token.layer
        if base not in (self._main, self._backup) or base.slot_of(key).node is not token.node:
            return False  # the topology changed
        item = make(Kind.VALUE, value, ttl_seconds)
        if not base.write(
            b"cas", {key: item._replace(token=token.number)}, ttl_seconds=ttl_seconds
        ):
            return False
        layers = (self._main, self._backup, *self._groups)
        others = [layer for layer in layers if layer is not base]
        set_everywhere([(layer, {key: item}, ttl_seconds) for layer in others])
        now = base.read([key]).items.get(key)
        if now is not None and now.data != value:
            set_everywhere([(layer, {key: _tombstone()}, TOMBSTONE_SECONDS) for layer in others])
        return True

    def _promote(self, key: bytes) -> bool:
        """Copy a value that only Backup has to Main, where all writers meet; whether there is a value now."""
        item = self._backup.read([key]).items.get(key)
        if item is None or item.kind != Kind.VALUE:
            return False
        ttl_seconds = bounded(item.ends - int(time.time())) if item.ends else TOMBSTONE_SECONDS
        self._main.write(b"add", {key: item._replace(token=0)}, ttl_seconds=ttl_seconds)
        return True


def _gets(layer: Layer, key: bytes) -> tuple[bool, tuple[bytes, Token] | None]:
    """Whether a layer answered, and its value."""
    if not layer.slots:
        return False, None
    reading, node = layer.read([key]), layer.slot_of(key).node
    item = reading.items.get(key)
    if item is None or item.kind != Kind.VALUE:
        return node in reading.nodes, None
    return True, (item.data, Token(layer, node, item.token))


def _tombstone() -> Item:
    return make(Kind.TOMBSTONE, b"", TOMBSTONE_SECONDS)
