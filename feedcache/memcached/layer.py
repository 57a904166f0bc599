"""One layer of the tiers: nodes at fixed slots. A key belongs to a slot for ever; no failure moves it to another.

A request that concerns several nodes is sent to all of them before the first answer is read.
"""

import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from feedcache import stats
from feedcache.memcached.node import Build, MemcachedNode, PendingRequest, Place
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
LEASE_SECONDS = 2  # Memcached counts whole seconds: it lives one to two
UNKNOWN_TTL_SECONDS = 60  # of a copy of something that does not say when it ends


@dataclass(slots=True)
class Reading:
    """What a layer answered, and under which generation each of its nodes did: a later refill must be under the same."""

    items: dict[bytes, Item] = field(default_factory=dict)
    nodes: dict[MemcachedNode, int] = field(default_factory=dict)

    def take(self, flight: PendingRequest, answer: Answer) -> None:
        """Add what one node answered."""
        self.nodes[flight.node] = flight.generation
        cut = len(flight.node.head(flight.generation)) + 1
        for key, item in answer.items.items():
            self.items[key[cut:]] = item


@dataclass(frozen=True, slots=True)
class Slot:
    """A place and the node that stands there."""

    node: MemcachedNode
    is_read: bool = True


class Layer:
    """The nodes of Main, of Backup or of one L1 group."""

    def __init__(self, name: str, slots: Sequence[Slot]) -> None:
        self.name = name
        self.slots = tuple(slots)

    def slot_of(self, key: bytes) -> Slot:
        """The place of a key, by a hash that is the same in every process and for ever."""
        return self.slots[zlib.crc32(key) % len(self.slots)]

    def by_slot(self, keys: Collection[bytes]) -> list[tuple[Slot, list[bytes]]]:
        """Keys by the places they belong to."""
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
        """What the layer has, with the tokens to replace it."""
        return self.ask(keys)()

    def ask(self, keys: Collection[bytes]) -> Callable[[], Reading]:
        """The same, sent now; what is returned waits for the answers, and must be called."""
        flights, errors = [], 0
        for slot, part in self.by_slot(keys):
            build = _ask(slot.node, part)
            flight = slot.node.send(build) if slot.is_read else None
            if flight is None:
                errors += len(part)
            else:
                flights.append((flight, part))
        return partial(self._land, flights, len(keys), errors)

    def _land(
        self, flights: Sequence[tuple[PendingRequest, list[bytes]]], asked: int, errors: int
    ) -> Reading:
        reading = Reading()
        for flight, part, answer in _landed(flights):
            if answer is None:
                errors += len(part)
            else:
                reading.take(flight, answer)
        self._count(asked, len(reading.items), errors)
        return reading

    def write(self, verb: bytes, items: Items, *, ttl_seconds: int) -> set[bytes]:
        """Store and wait for the answers; the keys that were stored. Nodes that failed are suspect from now on."""
        stored: set[bytes] = set()
        flights = []
        for slot, part in self.by_slot(items):
            build = _stores(slot.node, verb, [(key, items[key]) for key in part], ttl_seconds)
            flight = slot.node.send(build, lines=len(part), is_repeatable=verb != b"cas")
            if flight is None:
                slot.node.miss_write()
            else:
                flights.append((flight, part))
        for flight, part, answer in _landed(flights):
            if answer is None:
                flight.node.miss_write()
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
        """Add without waiting what another layer or the source had, where nothing newer came meanwhile. It may get lost.

        Only under the generation that the layer had when it was read: a write may have been missed in between. An item
        with a token takes the place of exactly that which was read with that token. Leases to `release` go in the same
        request, so that nobody finds neither lease nor value.
        """
        for slot, part in self.by_slot(items.keys() | set(release)):
            generation = nodes.get(slot.node)
            if generation is None or slot.node.current() != generation:
                continue
            stored = [(key, items[key]) for key in part if key in items]
            request = _refill(stored, [key for key in part if key in release])
            slot.node.tell(request, generation)

    def lease(self, keys: Collection[bytes]) -> "Leases":
        """Ask to be the one who loads, key by key, and see in the same trip what has come meanwhile."""
        leases, flights = Leases(), []
        for slot, part in self.by_slot(keys):
            build = _lease(slot.node, part)
            flight = slot.node.send(build, lines=len(part)) if slot.is_read else None
            if flight is not None:
                flights.append((flight, part))
        for flight, part, answer in _landed(flights):
            if answer is not None:
                leases.take(flight, part, answer)
        return leases

    def _count(self, asked: int, found: int, errors: int) -> None:
        tier = f"tier:{self.name}"
        stats.count(tier, stats.HIT, found)
        stats.count(tier, stats.ERROR, errors)
        stats.count(tier, stats.MISS, asked - found - errors)


def set_everywhere(what: Sequence[tuple[Layer, Items, int]]) -> None:
    """Set items with a time to live in several layers, without an answer for each, and wait until they are there.

    One question to every node closes its request; all nodes work at the same time. So whoever reads after a write finds
    it in every layer, in whatever process. What does not arrive makes its node suspect.
    """
    flights = []
    for layer, items, ttl_seconds in what:
        for slot, part in layer.by_slot(items):
            build = _sets(slot.node, [(key, items[key]) for key in part], ttl_seconds)
            flight = slot.node.send(build)
            if flight is None:
                slot.node.miss_write()
            else:
                flights.append((flight, part))
    for flight, _part, answer in _landed(flights):
        if answer is None:
            flight.node.miss_write()


@dataclass(slots=True)
class Leases:
    """Which keys are ours to load, which are somebody else's, and what was there after all."""

    won: set[bytes] = field(default_factory=set)
    lost: set[bytes] = field(default_factory=set)
    reading: Reading = field(default_factory=Reading)

    def take(self, flight: PendingRequest, keys: Sequence[bytes], answer: Answer) -> None:
        """Add what one node answered."""
        for key, line in zip(keys, answer.lines, strict=True):
            (self.won if line == b"STORED" else self.lost).add(key)
        self.reading.take(flight, answer)


def layer_of(name: str, group: Group, known: Mapping[Place, MemcachedNode]) -> Layer:
    """A layer as the topology has it, with the clients that are known already."""
    slots = []
    for one in group:
        place = (one.url, one.generation)
        node = known.get(place) or MemcachedNode(*place)
        slots.append(Slot(node, is_read=one.is_read))
    return Layer(name, slots)


def make(kind: Kind, data: bytes, ttl_seconds: int) -> Item:
    """An item that ends after so many seconds."""
    return Item(data, flags_of(kind, int(time.time()) + ttl_seconds))


def bounded(ttl_seconds: int) -> int:
    """A time to live that Memcached takes as one."""
    return max(1, min(ttl_seconds, MAX_TTL_SECONDS))


def _landed(
    flights: Sequence[tuple[PendingRequest, list[bytes]]],
) -> Iterator[tuple[PendingRequest, list[bytes], Answer | None]]:
    """The answers to requests that are all under way; together they cost one time-out at most."""
    left, deadline = list(flights), time.monotonic() + memcached_timeout()
    try:
        while left:
            flight, part = left.pop(0)
            yield flight, part, flight.collect(deadline)
    finally:  # something went wrong in between: what nobody will read must not be read by the next user
        for flight, _part in left:
            flight.node.discard(flight.connection)


def _ask(node: MemcachedNode, keys: Sequence[bytes]) -> Build:
    def build(head: bytes) -> bytes:
        begin = head + VALUE
        wanted = [begin + (b" " + begin).join(keys), node.stamp_key]
        return get_request(wanted)

    return build


def _stores(
    node: MemcachedNode, verb: bytes, items: Sequence[tuple[bytes, Item]], ttl_seconds: int
) -> Build:
    def build(head: bytes) -> bytes:
        named = [(head + VALUE + key, item) for key, item in items]
        stores = store_request(verb, named, ttl_seconds=ttl_seconds, noreply=False)
        return stores + get_request([node.stamp_key])

    return build


def _sets(node: MemcachedNode, items: Sequence[tuple[bytes, Item]], ttl_seconds: int) -> Build:
    def build(head: bytes) -> bytes:
        named = [(head + VALUE + key, item) for key, item in items]
        stores = store_request(b"set", named, ttl_seconds=ttl_seconds, noreply=True)
        return stores + get_request([node.stamp_key])

    return build


def _refill(items: Sequence[tuple[bytes, Item]], leased: Sequence[bytes]) -> Build:
    def build(head: bytes) -> bytes:
        now = int(time.time())
        stores = [
            store_request(
                b"cas" if item.token else b"add",
                [(head + VALUE + key, item)],
                ttl_seconds=bounded(item.ends - now) if item.ends else UNKNOWN_TTL_SECONDS,
                noreply=True,
            )
            for key, item in items
        ]
        return b"".join(stores) + delete_request(head + LEASE + key for key in leased)

    return build


def _lease(node: MemcachedNode, keys: Sequence[bytes]) -> Build:
    def build(head: bytes) -> bytes:
        leases = [(head + LEASE + key, Item(b"")) for key in keys]
        asked = store_request(b"add", leases, ttl_seconds=LEASE_SECONDS, noreply=False)
        return asked + _ask(node, keys)(head)

    return build
