"""What one read of the tiers found, and what whoever loads the rest has to know of it. Keys are bytes here."""

import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from feedcache.memcached.layer import Layer
from feedcache.memcached.node import MemcachedNode
from feedcache.memcached.protocol import Item, Kind

MAX_KEYS_PER_CALL = 1000
REFILL_WITHIN_SECONDS = 5.0  # whoever took longer refills nothing: half the life of a tombstone
VALUE, ABSENT = Kind.VALUE.value, Kind.ABSENT.value

_is_key = re.compile(rb"[!-~]{1,200}").fullmatch
_are_keys = re.compile(rb"[!-~]{1,200}(?:\n[!-~]{1,200})*").fullmatch


@dataclass(frozen=True, slots=True)
class Token:
    """Where a value was read by `gets`, and its number there."""

    layer: Layer
    node: MemcachedNode
    number: int


@dataclass(slots=True)
class Read:
    """One read: what was found, and what a refill has to know. `names` are the keys as they were asked."""

    names: dict[bytes, str]
    group: Layer | None
    began: float = field(default_factory=time.monotonic)
    items: dict[bytes, Item] = field(
        default_factory=dict
    )  # values, and entries that say there is none
    answers: list[tuple[Layer, dict[bytes, Item]]] = field(default_factory=list)
    tokens: dict[Layer, dict[bytes, int]] = field(default_factory=dict)  # of what may be replaced
    nodes: dict[MemcachedNode, int] = field(default_factory=dict)  # generations that were read

    def take(self, layer: Layer, items: dict[bytes, Item]) -> None:
        """Sort what a layer answered."""
        self.answers.append((layer, items))
        for key, item in items.items():
            if item.flags & 3 in (VALUE, ABSENT):  # spelled out: the innermost loop of every page
                self.items[key] = item
            else:
                self.tokens.setdefault(layer, {})[key] = item.token

    def refuse(self, key: bytes) -> Layer:
        """What was found for a key is of no use: exactly that may be replaced. Where it was found."""
        item = self.items.pop(key)
        layer = next(layer for layer, items in reversed(self.answers) if items.get(key) is item)
        self.tokens.setdefault(layer, {})[key] = item.token
        return layer

    def replacing(self, layer: Layer, items: Mapping[bytes, Item]) -> dict[bytes, Item]:
        """The same items for a layer: each in the place of what may be replaced there, or else of nothing."""
        tokens = self.tokens.get(layer, {})
        return {key: Item(item.data, item.flags, tokens.get(key, 0)) for key, item in items.items()}

    @property
    def is_fresh(self) -> bool:
        """Whether what was read may still be stored elsewhere."""
        return time.monotonic() - self.began < REFILL_WITHIN_SECONDS


def named(keys: Collection[str]) -> dict[bytes, str]:
    """Keys as bytes; those that Memcached would not take are left out, and so are misses."""
    if len(keys) > MAX_KEYS_PER_CALL:
        raise ValueError(f"at most {MAX_KEYS_PER_CALL} keys a call, not {len(keys)}")
    together = "\n".join(keys).encode()
    raws = together.split(b"\n")
    if _are_keys(together) and len(raws) == len(keys):  # the usual case, without a look at each
        return dict(zip(raws, keys, strict=True))
    return {raw: key for key in keys if _is_key(raw := key.encode())}
