"""One layer of the tiers: nodes at fixed slots. A key belongs to one slot for ever, whatever fails.

A request that concerns several nodes is sent to all of them before the first answer is read.
"""

import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from feedcache import stats
from feedcache.memcached.node import MemcachedNode, NodeKey, PendingRequest, RequestBuilder
from feedcache.memcached.protocol import (
    MAX_TTL_SECONDS,
    Answer,
    Item,
    Kind,
    delete_request,
    flags_of,
    get_request,
    store_request,
)
from feedcache.redis_servers.connections import memcached_timeout
from feedcache.topology import Group

Items = Mapping[bytes, Item]

VALUE, LEASE = b":", b"~"  # what follows the generation in a key
LEASE_SECONDS = 2  # Memcached counts whole seconds: a lease lives one to two
UNKNOWN_TTL_SECONDS = 60  # of a copy of an item without an expiry


@dataclass(slots=True)
class Reading:
    """The items of a layer, and the generation of each node that answered: a refill must be under the same."""

    items: dict[bytes, Item] = field(default_factory=dict)
    nodes: dict[MemcachedNode, int] = field(default_factory=dict)

    def take(self, request: PendingRequest, answer: Answer) -> None:
        self.nodes[request.node] = request.generation
        cut = len(request.node.head(request.generation)) + 1
        for key, item in answer.items.items():
            self.items[key[cut:]] = item


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot and its node."""

    node: MemcachedNode
    is_read: bool = True


class Layer:
    """The nodes of Main, of Backup or of one L1 group."""

    def __init__(self, name: str, slots: Sequence[Slot]) -> None:
        self.name = name
        self.slots = tuple(slots)

    def slot_of(self, key: bytes) -> Slot:
        """By a hash that is the same in every process and version."""
        return self.slots[zlib.crc32(key) % len(self.slots)]

    def by_slot(self, keys: Collection[bytes]) -> list[tuple[Slot, list[bytes]]]:
        slots, number = self.slots, len(self.slots)
        if not slots:
            return []
        if number == 1:
            return [(slots[0], list(keys))] if keys else []
        parts: list[list[bytes]] = [[] for _ in slots]
        for key in keys:
            parts[zlib.crc32(key) % number].append(key)
        return [(slot, part) for slot, part in zip(slots, parts, strict=True) if part]

    def read(self, keys: Collection[bytes]) -> Reading:
        """The items with their cas tokens."""
        return self.ask(keys)()

    def ask(self, keys: Collection[bytes]) -> Callable[[], Reading]:
        """Send the request of a read now; the result waits for the answers, and must be called."""
        requests, errors = [], 0
        for slot, part in self.by_slot(keys):
            build = _get(slot.node, part)
            request = slot.node.send(build) if slot.is_read else None
            if request is None:
                errors += len(part)
            else:
                requests.append((request, part))
        return partial(self._receive, requests, len(keys), errors)

    def _receive(
        self, requests: Sequence[tuple[PendingRequest, list[bytes]]], requested: int, errors: int
    ) -> Reading:
        reading = Reading()
        for request, part, answer in _collect(requests):
            if answer is None:
                errors += len(part)
            else:
                reading.take(request, answer)
        self._count(requested, len(reading.items), errors)
        return reading

    def write(self, verb: bytes, items: Items, *, ttl_seconds: int) -> set[bytes]:
        """Store and wait for the answers; the stored keys. A node that failed has missed a write."""
        stored: set[bytes] = set()
        requests = []
        for slot, part in self.by_slot(items):
            build = _stores(slot.node, verb, [(key, items[key]) for key in part], ttl_seconds)
            request = slot.node.send(build, lines=len(part), is_repeatable=verb != b"cas")
            if request is None:
                slot.node.miss_write()
            else:
                requests.append((request, part))
        for request, part, answer in _collect(requests):
            if answer is None:
                request.node.miss_write()
                continue
            pairs = zip(part, answer.lines, strict=True)
            stored.update(key for key, line in pairs if line == b"STORED")
        return stored

    def refill(
        self,
        items: Items,
        nodes: Mapping[MemcachedNode, int],
        *,
        release: Collection[bytes] = (),
    ) -> None:
        """Add items of another layer or of the source without waiting, unless something newer came meanwhile. May get lost.

        Only under the generation that the layer had when it was read: a write may have been missed in between. An item
        with a token replaces exactly the one that was read with it. Leases to `release` are deleted in the same request,
        so that no reader finds neither lease nor value.
        """
        for slot, part in self.by_slot(items.keys() | set(release)):
            generation = nodes.get(slot.node)
            if generation is None or slot.node.current() != generation:
                continue
            stored = [(key, items[key]) for key in part if key in items]
            build = _refill(stored, [key for key in part if key in release])
            slot.node.send_noreply(build, generation)

    def lease(self, keys: Collection[bytes]) -> "Leases":
        """Try to become the loader of each key, and read in the same round trip what has been stored meanwhile."""
        leases, requests = Leases(), []
        for slot, part in self.by_slot(keys):
            build = _lease(slot.node, part)
            request = slot.node.send(build, lines=len(part)) if slot.is_read else None
            if request is not None:
                requests.append((request, part))
        for request, part, answer in _collect(requests):
            if answer is not None:
                leases.take(request, part, answer)
        return leases

    def _count(self, requested: int, found: int, errors: int) -> None:
        tier = f"tier:{self.name}"
        stats.count(tier, stats.HIT, found)
        stats.count(tier, stats.ERROR, errors)
        stats.count(tier, stats.MISS, requested - found - errors)


def set_everywhere(what: Sequence[tuple[Layer, Items, int]]) -> None:
    """Set items in several layers, each with a time to live, without a reply for each, and wait until they are there.

    A read of the stamp closes the request to every node; all nodes work at the same time. So a reader in any process finds
    the new item in every layer afterwards. A node that does not answer has missed a write.
    """
    requests = []
    for layer, items, ttl_seconds in what:
        for slot, part in layer.by_slot(items):
            build = _sets(slot.node, [(key, items[key]) for key in part], ttl_seconds)
            request = slot.node.send(build)
            if request is None:
                slot.node.miss_write()
            else:
                requests.append((request, part))
    for request, _part, answer in _collect(requests):
        if answer is None:
            request.node.miss_write()


@dataclass(slots=True)
class Leases:
    """Keys to load here, keys that another caller loads, and items stored meanwhile."""

    won: set[bytes] = field(default_factory=set)
    lost: set[bytes] = field(default_factory=set)
    reading: Reading = field(default_factory=Reading)

    def take(self, request: PendingRequest, keys: Sequence[bytes], answer: Answer) -> None:
        for key, line in zip(keys, answer.lines, strict=True):
            (self.won if line == b"STORED" else self.lost).add(key)
        self.reading.take(request, answer)


def layer_of(name: str, group: Group, clients: Mapping[NodeKey, MemcachedNode]) -> Layer:
    """A layer of the topology; nodes that have a client already keep it."""
    slots = []
    for node in group:
        key = (node.url, node.generation)
        slots.append(Slot(clients.get(key) or MemcachedNode(*key), is_read=node.is_read))
    return Layer(name, slots)


def make(kind: Kind, data: bytes, ttl_seconds: int) -> Item:
    """An item that expires after so many seconds."""
    return Item(data, flags_of(kind, int(time.time()) + ttl_seconds))


def bounded(ttl_seconds: int) -> int:
    """A time to live that Memcached does not read as a date."""
    return max(1, min(ttl_seconds, MAX_TTL_SECONDS))


def _collect(
    requests: Sequence[tuple[PendingRequest, list[bytes]]],
) -> Iterator[tuple[PendingRequest, list[bytes], Answer | None]]:
    """The answers to requests that are all under way; together they cost one time-out at most."""
    pending, deadline = list(requests), time.monotonic() + memcached_timeout()
    try:
        while pending:
            request, part = pending.pop(0)
            yield request, part, request.collect(deadline)
    finally:  # after an error, unread answers must not reach the next user of a connection
        for request, _part in pending:
            request.node.discard(request.connection)


def _get(node: MemcachedNode, keys: Sequence[bytes]) -> RequestBuilder:
    def build(prefix: bytes) -> bytes:
        return get_request([*(prefix + VALUE + key for key in keys), node.stamp_key])

    return build


def _stores(
    node: MemcachedNode, verb: bytes, items: Sequence[tuple[bytes, Item]], ttl_seconds: int
) -> RequestBuilder:
    def build(prefix: bytes) -> bytes:
        named = [(prefix + VALUE + key, item) for key, item in items]
        stores = store_request(verb, named, ttl_seconds=ttl_seconds, noreply=False)
        return stores + get_request([node.stamp_key])

    return build


def _sets(
    node: MemcachedNode, items: Sequence[tuple[bytes, Item]], ttl_seconds: int
) -> RequestBuilder:
    def build(prefix: bytes) -> bytes:
        named = [(prefix + VALUE + key, item) for key, item in items]
        stores = store_request(b"set", named, ttl_seconds=ttl_seconds, noreply=True)
        return stores + get_request([node.stamp_key])

    return build


def _refill(items: Sequence[tuple[bytes, Item]], leased: Sequence[bytes]) -> RequestBuilder:
    def build(prefix: bytes) -> bytes:
        now = int(time.time())
        stores = [
            store_request(
                b"cas" if item.token else b"add",
                [(prefix + VALUE + key, item)],
                ttl_seconds=bounded(item.ends - now) if item.ends else UNKNOWN_TTL_SECONDS,
                noreply=True,
            )
            for key, item in items
        ]
        return b"".join(stores) + delete_request(prefix + LEASE + key for key in leased)

    return build


def _lease(node: MemcachedNode, keys: Sequence[bytes]) -> RequestBuilder:
    def build(prefix: bytes) -> bytes:
        leases = [(prefix + LEASE + key, Item(b"")) for key in keys]
        requested = store_request(b"add", leases, ttl_seconds=LEASE_SECONDS, noreply=False)
        return requested + _get(node, keys)(prefix)

    return build
