"""What one read of the tiers found, and what whoever loads the rest has to know of it. Keys are bytes here."""

import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from apps.caches.layers import Layer
from apps.caches.nodes import MemcachedNode
from apps.caches.wire import Item, Kind

MAX_KEYS_PER_CALL = 1000

_is_key = re.compile(rb"[!-~]{1,200}").fullmatch


@dataclass(frozen=True, slots=True)
class Token:
    """Where a value was read by `gets`, and its number there."""

    layer: Layer
    node: MemcachedNode
    number: int


@dataclass(slots=True)
class Read:
    """One read: what was found, and what a refill has to know. Keys are bytes; `names` are as they were asked."""

    names: dict[bytes, str]
    group: Layer | None
    began: float = field(default_factory=time.monotonic)
    items: dict[bytes, Item] = field(
        default_factory=dict
    )  # values, and entries that say there is none
    tombs: dict[Layer, dict[bytes, int]] = field(default_factory=dict)  # tokens of tombstones
    nodes: dict[MemcachedNode, int] = field(default_factory=dict)  # generations that were read

    def take(self, layer: Layer, items: Mapping[bytes, Item]) -> None:
        """Sort what a layer answered."""
        for key, item in items.items():
            if item.kind == Kind.GONE:
                self.tombs.setdefault(layer, {})[key] = item.token
            elif item.kind in (Kind.VALUE, Kind.ABSENT):
                self.items[key] = item

    def is_gone(self, key: bytes, layer: Layer) -> bool:
        """Whether a layer says that the key was deleted."""
        return key in self.tombs.get(layer, ())


def named(keys: Collection[str]) -> dict[bytes, str]:
    """Keys as bytes; those that Memcached would not take are left out, and so are misses."""
    if len(keys) > MAX_KEYS_PER_CALL:
        raise ValueError(f"at most {MAX_KEYS_PER_CALL} keys a call, not {len(keys)}")
    return {raw: key for key in keys if _is_key(raw := key.encode())}
