"""What one read of the tiers found, and what is needed to store the missing values afterwards. Keys are bytes here."""

import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from feedcache.memcached.layer import Layer
from feedcache.memcached.node import MemcachedNode
from feedcache.memcached.protocol import Item, Kind

MAX_KEYS_PER_CALL = 1000
REFILL_WITHIN_SECONDS = 5.0  # half the life of a tombstone
VALUE, ABSENT = Kind.VALUE.value, Kind.ABSENT.value

_is_key = re.compile(rb"[!-~]{1,200}").fullmatch


@dataclass(frozen=True, slots=True)
class Token:
    """Where `gets` read a value, and its cas number there."""

    layer: Layer
    node: MemcachedNode
    number: int


@dataclass(slots=True)
class Read:
    """`names`: the requested keys as text, by key as bytes."""

    names: dict[bytes, str]
    group: Layer | None
    began: float = field(default_factory=time.monotonic)
    items: dict[bytes, Item] = field(default_factory=dict)  # values, and negative entries
    answers: list[tuple[Layer, dict[bytes, Item]]] = field(default_factory=list)
    tokens: dict[Layer, dict[bytes, int]] = field(
        default_factory=dict
    )  # of items that may be replaced
    nodes: dict[MemcachedNode, int] = field(
        default_factory=dict
    )  # generations at the time of the read

    def take(self, layer: Layer, items: dict[bytes, Item]) -> None:
        """Add the items that a layer returned."""
        self.answers.append((layer, items))
        for key, item in items.items():
            if item.kind in (VALUE, ABSENT):
                self.items[key] = item
            else:
                self.tokens.setdefault(layer, {})[key] = item.token

    def refuse(self, key: bytes) -> Layer:
        """Mark the item of a key as unusable: exactly this one may be replaced. The layer it was in."""
        item = self.items.pop(key)
        layer = next(layer for layer, items in reversed(self.answers) if items.get(key) is item)
        self.tokens.setdefault(layer, {})[key] = item.token
        return layer

    def replacing(self, layer: Layer, items: Mapping[bytes, Item]) -> dict[bytes, Item]:
        """The items for a layer: each with the token of what it may replace there, or none."""
        tokens = self.tokens.get(layer, {})
        return {key: Item(item.data, item.flags, tokens.get(key, 0)) for key, item in items.items()}

    @property
    def is_fresh(self) -> bool:
        """Whether values from this read may still be stored elsewhere."""
        return time.monotonic() - self.began < REFILL_WITHIN_SECONDS


def named(keys: Collection[str]) -> dict[bytes, str]:
    """Keys as bytes; keys that Memcached does not accept are left out, and so are misses."""
    if len(keys) > MAX_KEYS_PER_CALL:
        raise ValueError(f"at most {MAX_KEYS_PER_CALL} keys a call, not {len(keys)}")
    return {raw: key for key in keys if _is_key(raw := key.encode())}
