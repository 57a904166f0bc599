"""The Memcached tiers (sources 000, 002): many small, equal L1 groups, Main, and Backup behind Main.

A layer is Main, Backup or one L1 group, with a node in each of its slots. A failure never moves a key to another slot.
A request that concerns several nodes is sent to all of them before the first answer is read. Callers pass keys as
strings, which `named` turns into bytes. Every key in Memcached also contains its node's *generation*, a number that
grows when the node has missed a write, so values stored before are not read again. The node stores the current number
under a separate key, the *stamp* (`memcached_node`).

While the number of slots of Main or Backup is changing, the keys that move have two slots (`Layer.other`). A process
may use its topology only for a limited time after confirming it (`TieredCache.until`); docs/decisions/0171 explains
why no process then reads outdated values.

A read queries one L1 group chosen at random, then Main, then Backup, each only for the keys that are still missing.
`refill` copies the results to the layers above. A write is sent to Main, and then to all other layers at the same time
(appends go to all layers at once). If Main fails, Backup replaces it; if both fail, only tombstones are written, to L1.
`gets` and `cas` read and compare in Main, or in Backup while Main fails, but never in L1.

L1 and Backup are optional: a read queries three layers, two, or only Main. Without Main, every read is a miss, and
every write returns False, except appends, which return True because no process can read a value without the bytes. The
keys of a node that fails are misses; `memcached_node` decides which of its values may be read later. For the
differences from the articles, see docs/decisions/0009 and 0142; 0148 explains why Memcached's own leases are not used.
"""

import logging
import math
import os
import random
import re
import threading
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import NamedTuple, TypeVar

from feedcache import stats
from feedcache.connections import Redis, dedicated_configuration, refills_all_l1
from feedcache.memcached_node import (
    MAX_TTL_SECONDS,
    Answer,
    Item,
    Kind,
    MemcachedNode,
    NodeKey,
    PendingRequest,
    RequestBuilder,
    delete_request,
    flags_of,
    get_request,
    parse_generations,
    store_request,
    sync_generations,
)
from feedcache.servers import hot_keys
from feedcache.servers.topology_listener import LEASE_SECONDS as MAP_LEASE_SECONDS
from feedcache.servers.topology_listener import current, listener
from feedcache.slot_map import BUCKETS, NOWHERE, SlotMap, bucket_of, even_map, only_moved
from feedcache.topology import Group, Pool, Topology

logger = logging.getLogger(__name__)

T = TypeVar("T")
Items = Mapping[bytes, Item]

VALUE_MARK, LEASE_MARK = b":", b"~"  # one of these follows the generation in a key
# The life of a lease, which makes one caller the loader of a key. Memcached counts whole seconds, so a lease lasts for
# one to two seconds.
LEASE_SECONDS = 2
UNKNOWN_TTL_SECONDS = 60  # for the copy of an item without an expiry


@dataclass(slots=True)
class Reading:
    """The items of a layer, and the generations under which its nodes answered."""

    items: dict[bytes, Item] = field(default_factory=dict)
    nodes: dict[MemcachedNode, int] = field(default_factory=dict)

    def take(self, request: PendingRequest, answer: Answer) -> None:
        self.nodes[request.node] = request.generation
        cut = len(request.node.head(request.generation)) + 1
        for key, item in answer.items.items():
            self.items[key[cut:]] = item


@dataclass(frozen=True, slots=True)
class Slot:
    """The node in a slot; `is_read` is False while the node gets writes but no reads."""

    node: MemcachedNode
    is_read: bool = True


class Layer:
    """The nodes of Main, of Backup or of one L1 group, and the slot map that assigns keys to them.

    `other`: the second slots of the keys that are moving to another slot. With `reads_other`, they are read and written
    like the first slots; otherwise, a change only writes tombstones to them.
    """

    def __init__(
        self,
        name: str,
        slots: Sequence[Slot],
        slot_map: SlotMap,
        *,
        other: "Layer | None" = None,
        reads_other: bool = False,
    ) -> None:
        self.name = name
        self.slots = tuple(slots)
        self.other, self.reads_other = other, reads_other
        # buckets without a slot get the number after the last slot
        self._slot_map = slot_map.replace(bytes([NOWHERE]), bytes([len(self.slots)]))
        numbers = set(self._slot_map)
        self._only = self.slots[0] if self.slots and numbers == {0} else None

    def slot_of(self, key: bytes) -> Slot:
        """The slot of a key, found by a hash that is the same in every process and release."""
        return self.slots[self._slot_map[bucket_of(key)]]

    def is_moving(self, key: bytes) -> bool:
        """Whether a key has a second slot."""
        return self.other is not None and bool(self.other.by_slot([key]))

    def by_slot(self, keys: Collection[bytes]) -> list[tuple[Slot, list[bytes]]]:
        """The keys by slot; keys without a slot are left out."""
        if self._only is not None:
            return [(self._only, list(keys))] if keys else []
        if not self.slots:
            return []
        slot_map, crc32, buckets = self._slot_map, zlib.crc32, BUCKETS  # local names are faster
        parts: list[list[bytes]] = [[] for _ in range(len(self.slots) + 1)]
        for key in keys:
            parts[slot_map[crc32(key) % buckets]].append(key)
        return [(slot, part) for slot, part in zip(self.slots, parts, strict=False) if part]

    def copies(self, items: Items, ttl_seconds: int) -> list[tuple["Layer", Items, int]]:
        """The copies to be set in the second slots when items are stored."""
        if self.other is None:
            return []
        if self.reads_other:
            return [(self.other, items, ttl_seconds)]
        return [(self.other, dict.fromkeys(items, _tombstone()), TOMBSTONE_SECONDS)]

    def read(self, keys: Collection[bytes]) -> Reading:
        """The items with their cas tokens."""
        return self.ask(keys)()

    def ask(self, keys: Collection[bytes]) -> Callable[[], Reading]:
        """Send the request for a read now. The returned function must be called: it waits for the answers."""
        requests, requested, errors = [], 0, 0
        for slot, part in self.by_slot(keys):
            requested += len(part)
            build = _get(slot.node, part)
            request = slot.node.send(build) if slot.is_read else None
            if request is None:
                errors += len(part)
            else:
                requests.append((request, part))
        return partial(self._receive, requests, requested, errors)

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
        """Store items, wait for the answers, and return the stored keys. A node that failed has missed a write.

        The second slots of keys that are moving get their `copies` at the same time.
        """
        stored: set[bytes] = set()
        requests = self._send_stores(verb, items, ttl_seconds)
        own = len(requests)
        for other, copies, seconds in self.copies(items, ttl_seconds):
            requests += other._send_stores(b"set", copies, seconds)  # noqa: SLF001 -- a method of this class
        for number, (request, part, answer) in enumerate(_collect(requests)):
            if answer is None:
                request.node.miss_write()
            elif number < own:
                pairs = zip(part, answer.lines, strict=True)
                stored.update(key for key, line in pairs if line == b"STORED")
        return stored

    def _send_stores(
        self, verb: bytes, items: Items, ttl_seconds: int
    ) -> list[tuple[PendingRequest, list[bytes]]]:
        requests = []
        for slot, part in self.by_slot(items):
            build = _stores(slot.node, verb, [(key, items[key]) for key in part], ttl_seconds)
            request = slot.node.send(
                build, lines=len(part), is_repeatable=verb != b"cas", is_write=True
            )
            if request is None:
                slot.node.miss_write()
            else:
                requests.append((request, part))
        return requests

    def refill(
        self,
        items: Items,
        nodes: Mapping[MemcachedNode, int],
        *,
        release: Collection[bytes] = (),
    ) -> None:
        """Add items from another layer or from the source, unless something newer is there. Does not wait; the items
        may get lost.

        It writes only to nodes that still have the generation under which they were read, because the others have
        missed a write since. An item with a token replaces only the item that was read with this token. The leases of
        the keys in `release` are deleted at the end of the request, so that every reader finds a lease or a value.
        """
        for slot, part in self.by_slot(items.keys() | set(release)):
            generation = nodes.get(slot.node)
            if generation is None or slot.node.current() != generation:
                continue
            stored = [(key, items[key]) for key in part if key in items]
            build = _refill(stored, [key for key in part if key in release])
            slot.node.send_noreply(build, generation)

    def both(self) -> "list[Layer]":
        """This layer, and its second slots if they hold values."""
        return [self, self.other] if self.other is not None and self.reads_other else [self]

    def lease(self, keys: Collection[bytes]) -> "Leases":
        """Try to become the loader of each key, and in the same round trip read the items that others have stored."""
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
        misses = requested - found - errors
        stats.count(tier, {stats.HIT: found, stats.ERROR: errors, stats.MISS: misses})


def set_everywhere(what: Sequence[tuple[Layer, Items, int]]) -> None:
    """Set items in several layers, each with a time to live, and wait until all are stored. No item gets a separate
    reply.

    Each request ends with a read of the node's stamp, which is answered after the stores. So afterwards no process
    finds an older item in these layers. A node that does not answer has missed a write.
    """
    requests = []
    copies = [copy for layer, items, seconds in what for copy in layer.copies(items, seconds)]
    for layer, items, ttl_seconds in (*what, *copies):
        for slot, part in layer.by_slot(items):
            pairs = [(key, items[key]) for key in part]
            build = _stores(slot.node, b"set", pairs, ttl_seconds, noreply=True)
            request = slot.node.send(build, is_write=True)
            if request is None:
                slot.node.miss_write()
            else:
                requests.append((request, part))
    for request, _part, answer in _collect(requests):
        if answer is None:
            request.node.miss_write()


class Append(NamedTuple):
    """Bytes to append to a value. If the value is missing, `start` (unless None) is stored first, for `ttl_seconds`."""

    data: bytes
    start: bytes | None = None
    ttl_seconds: int = 0


def send_appends(layers: Sequence[Layer], appends: Mapping[bytes, Append]) -> Callable[[], None]:
    """Append in all these layers. The returned function must be called: it waits until all layers have the bytes.

    All nodes work at the same time, so it is one round trip. A request may be repeated, which appends the bytes again.
    A node that does not answer has missed a write. Does not extend the life of an item.
    """
    requests, asked = [], []
    for layer in (one for each in layers for one in each.both()):
        for slot, part in layer.by_slot(appends):
            build = _appends(slot.node, [(key, appends[key]) for key in part])
            begun = sum(appends[key].start is not None for key in part)
            request = slot.node.send(build, lines=begun + len(part), is_write=True)
            if request is None:
                slot.node.miss_write()
            else:
                requests.append((request, part))
                asked.append(layer)
    return partial(_receive_appends, requests, asked, appends)


def _receive_appends(
    requests: Sequence[tuple[PendingRequest, list[bytes]]],
    asked: Sequence[Layer],
    appends: Mapping[bytes, Append],
) -> None:
    for (request, part, answer), layer in zip(_collect(requests), asked, strict=True):
        if answer is None:
            request.node.miss_write()
            continue
        for key, line in zip(part, answer.lines[-len(part) :], strict=True):
            data, start, ttl_seconds = appends[key]
            if line != b"STORED" and start is not None:  # too large, or just expired
                new = make(Kind.VALUE, start + data, ttl_seconds)
                layer.write(b"set", {key: new}, ttl_seconds=ttl_seconds)


@dataclass(slots=True)
class Leases:
    """The keys that the caller has to load, those that another caller is loading, and items found at the same time."""

    won: set[bytes] = field(default_factory=set)
    lost: set[bytes] = field(default_factory=set)
    reading: Reading = field(default_factory=Reading)

    def take(self, request: PendingRequest, keys: Sequence[bytes], answer: Answer) -> None:
        for key, line in zip(keys, answer.lines, strict=True):
            (self.won if line == b"STORED" else self.lost).add(key)
        self.reading.take(request, answer)


def layer_of(
    name: str, group: Group, clients: Mapping[NodeKey, MemcachedNode], *, epoch: int
) -> Layer:
    """The layer of an L1 group; a node that already has a client keeps it."""
    return Layer(name, _slots(name, group, clients, epoch=epoch), even_map(len(group)))


def pool_of(topology: Topology, pool: Pool, clients: Mapping[NodeKey, MemcachedNode]) -> Layer:
    """The layer of Main or of Backup."""
    slots = _slots(pool, topology.group(pool), clients, epoch=topology.epoch)
    home, resize = topology.slot_map(pool), topology.resizes.get(pool)
    if resize is None:
        return Layer(pool, slots, home)
    other = Layer(f"{pool} before", slots, only_moved(resize.other, home))
    return Layer(pool, slots, home, other=other, reads_other=resize.reads_other)


def _slots(
    name: str, group: Group, clients: Mapping[NodeKey, MemcachedNode], *, epoch: int
) -> list[Slot]:
    slots = []
    for node in group:
        key = (node.url, node.generation, epoch)
        slots.append(Slot(clients.get(key) or MemcachedNode(*key, role=name), is_read=node.is_read))
    return slots


def make(kind: Kind, data: bytes, ttl_seconds: int) -> Item:
    """An item that expires after `ttl_seconds`."""
    return Item(data, flags_of(kind, int(time.time()) + ttl_seconds))


def bounded(ttl_seconds: int) -> int:
    """The time to live, limited so that Memcached does not take it for a date."""
    return max(1, min(ttl_seconds, MAX_TTL_SECONDS))


def _collect(
    requests: Sequence[tuple[PendingRequest, list[bytes]]],
) -> Iterator[tuple[PendingRequest, list[bytes], Answer | None]]:
    """The answers to requests that have all been sent. Waits for at most one timeout, plus one per repeated request."""
    timeout = max((request.seconds for request, _part in requests), default=0.0)
    pending, deadline = list(requests), time.monotonic() + timeout
    try:
        while pending:
            request, part = pending.pop(0)
            answer = request.collect(deadline)
            stats.count_call(request.node.backend, request.began, failed=answer is None)
            yield request, part, answer
    finally:  # after an error, unread answers must not reach the next user of a connection
        for request, _part in pending:
            request.connection.close()


def _get(node: MemcachedNode, keys: Sequence[bytes]) -> RequestBuilder:
    def build(prefix: bytes) -> bytes:
        begin = prefix + VALUE_MARK
        return get_request([begin + (b" " + begin).join(keys), node.stamp_key])

    return build


def _stores(
    node: MemcachedNode,
    verb: bytes,
    items: Sequence[tuple[bytes, Item]],
    ttl_seconds: int,
    *,
    noreply: bool = False,
) -> RequestBuilder:
    def build(prefix: bytes) -> bytes:
        named = [(prefix + VALUE_MARK + key, item) for key, item in items]
        stores = store_request(verb, named, ttl_seconds=ttl_seconds, noreply=noreply)
        return stores + get_request([node.stamp_key])

    return build


def _refill(items: Sequence[tuple[bytes, Item]], leased: Sequence[bytes]) -> RequestBuilder:
    def build(prefix: bytes) -> bytes:
        now = int(time.time())
        stores = [
            store_request(
                b"cas" if item.token else b"add",
                [(prefix + VALUE_MARK + key, item)],
                ttl_seconds=bounded(item.ends - now) if item.ends else UNKNOWN_TTL_SECONDS,
                noreply=True,
            )
            for key, item in items
        ]
        return b"".join(stores) + delete_request(prefix + LEASE_MARK + key for key in leased)

    return build


def _appends(node: MemcachedNode, appends: Sequence[tuple[bytes, Append]]) -> RequestBuilder:
    """A request that first adds the starts of missing values, and then appends to all values."""
    starts = [
        (key, make(Kind.VALUE, start, ttl_seconds), ttl_seconds)
        for key, (_data, start, ttl_seconds) in appends
        if start is not None
    ]

    def build(prefix: bytes) -> bytes:
        begin = prefix + VALUE_MARK
        stores = [
            store_request(b"add", [(begin + key, item)], ttl_seconds=ttl_seconds, noreply=False)
            for key, item, ttl_seconds in starts
        ]
        named = [(begin + key, Item(one.data)) for key, one in appends]
        stores.append(store_request(b"append", named, ttl_seconds=0, noreply=False))
        return b"".join(stores) + get_request([node.stamp_key])

    return build


def _lease(node: MemcachedNode, keys: Sequence[bytes]) -> RequestBuilder:
    def build(prefix: bytes) -> bytes:
        leases = [(prefix + LEASE_MARK + key, Item(b"")) for key in keys]
        requested = store_request(b"add", leases, ttl_seconds=LEASE_SECONDS, noreply=False)
        return requested + _get(node, keys)(prefix)

    return build


MAX_KEYS_PER_CALL = 1000
REFILL_WITHIN_SECONDS = 5.0  # half the life of a tombstone, which stops refills by earlier reads
ABSENT, TOMBSTONE = Kind.ABSENT.value, Kind.TOMBSTONE.value  # each is a bit of the flags

_is_key = re.compile(rb"[!-~]{1,200}").fullmatch
_are_keys = re.compile(rb"[!-~]{1,200}(?: [!-~]{1,200})*").fullmatch


@dataclass(frozen=True, slots=True)
class Token:
    """The layer where `gets` read a value, and the value's cas number there."""

    layer: Layer
    node: MemcachedNode
    number: int


@dataclass(slots=True)
class Read:
    """The items read for some keys, and their layers. `names` maps each requested key to its bytes."""

    names: dict[str, bytes]
    group: Layer | None
    began: float = field(default_factory=time.monotonic)
    items: dict[bytes, Item] = field(default_factory=dict)  # values, and negative entries
    answers: list[tuple[Layer, dict[bytes, Item]]] = field(default_factory=list)
    tokens: dict[Layer, dict[bytes, int]] = field(
        default_factory=dict
    )  # the tokens of items that may be replaced
    nodes: dict[MemcachedNode, int] = field(
        default_factory=dict
    )  # generations at the time of the read

    def take(self, layer: Layer, items: dict[bytes, Item]) -> None:
        """Add the items that a layer returned."""
        self.answers.append((layer, items))
        for key, item in items.items():
            if item.flags & TOMBSTONE:
                self.tokens.setdefault(layer, {})[key] = item.token
            else:  # a value, or a negative entry
                self.items[key] = item

    def refuse(self, key: bytes) -> Layer:
        """Mark the item of a key as unusable, so that a refill may replace only this item; returns its layer."""
        item = self.items.pop(key)
        layer = next(layer for layer, items in reversed(self.answers) if items.get(key) is item)
        self.tokens.setdefault(layer, {})[key] = item.token
        return layer

    def replacing(self, layer: Layer, items: Mapping[bytes, Item]) -> dict[bytes, Item]:
        """The items for a layer, each with the token of the item that it may replace there, if there is one."""
        tokens = self.tokens.get(layer, {})
        return {key: Item(item.data, item.flags, tokens.get(key, 0)) for key, item in items.items()}

    def forget(self) -> None:
        """Treat everything as missing, so that neither this read nor what is loaded after it is stored."""
        self.items.clear()
        self.answers.clear()
        self.began = -math.inf

    @property
    def is_fresh(self) -> bool:
        """Whether values from this read, or loaded after it, may still be stored."""
        return time.monotonic() - self.began < REFILL_WITHIN_SECONDS


def named(keys: Collection[str]) -> dict[str, bytes]:
    """Keys as bytes. Those that Memcached does not accept are left out, which makes them misses."""
    if len(keys) > MAX_KEYS_PER_CALL:
        raise ValueError(f"at most {MAX_KEYS_PER_CALL} keys a call, not {len(keys)}")
    joined = " ".join(keys).encode()
    raws = joined.split(b" ")
    if len(raws) == len(keys) and _are_keys(joined):  # the usual case
        return dict(zip(keys, raws, strict=True))
    return {key: raw for key in keys if _is_key(raw := key.encode())}


TOMBSTONE_SECONDS = 10  # longer than a reader of the old value may take to refill it


def _read_one(layer: Layer, key: bytes) -> tuple[bool, tuple[bytes, Token] | None]:
    """Whether a layer answered, and the value that it has for the key."""
    if not layer.slots:
        return False, None
    reading, node = layer.read([key]), layer.slot_of(key).node
    item = reading.items.get(key)
    if item is None or item.kind != Kind.VALUE:
        return node in reading.nodes, None
    return True, (item.data, Token(layer, node, item.token))


def _tombstone() -> Item:
    return make(Kind.TOMBSTONE, b"", TOMBSTONE_SECONDS)


Change = Callable[[bytes], bytes]

CAS_TRIES = 8
# After this time no process uses an older topology any more.
HOLD_SECONDS = MAP_LEASE_SECONDS


class TieredCache:
    """The tiers of one topology. A new topology gets a new object, which takes over the clients of unchanged nodes.

    After `until` (by the monotonic clock; each confirmation extends it), the topology may be outdated: the results of
    reads are discarded, and writes are repeated (`write_in_force`).
    """

    def __init__(self, topology: Topology, clients: Mapping[NodeKey, MemcachedNode]) -> None:
        self.topology, epoch = topology, topology.epoch
        self.until = math.inf
        self.main = pool_of(topology, Pool.MAIN, clients)
        self.backup = pool_of(topology, Pool.BACKUP, clients)
        self.groups = tuple(layer_of("l1", group, clients, epoch=epoch) for group in topology.l1)
        self._refills_all_l1 = refills_all_l1()
        self._learned: Mapping[bytes, bytes] = {}

    @property
    def is_in_force(self) -> bool:
        """Whether the topology was confirmed recently enough to be used.

        As long as it is, no other process is two steps of a resize (`topology.Phase`) ahead; one step does no harm.
        """
        return time.monotonic() < self.until

    # -- reading ---------------------------------------------------------------------------------

    def get_many(self, keys: Collection[str]) -> dict[str, bytes]:
        """The cached values of at most 1,000 keys; those without a value are left out."""
        read = self.read(keys)
        self.refill(read)
        return {
            name: item.data
            for name, key in read.names.items()
            if (item := read.items.get(key)) and not item.flags & ABSENT
        }

    def read(self, keys: Collection[str], *, uses_l1: bool = True) -> Read:
        """Read keys without storing anything. The result can be passed to `fill` or `refill`."""
        return self.ask(keys, uses_l1=uses_l1)()

    def ask(self, keys: Collection[str], *, uses_l1: bool = True) -> Callable[[], Read]:
        """Send a `read` to the first layer now. The returned function must be called: it waits for the answers."""
        groups = self.groups if uses_l1 else ()
        group = random.choice(groups) if groups else None  # noqa: S311 -- not a secret
        read = Read(named(keys), group)
        if self._refills_all_l1 and uses_l1:
            read.nodes |= self._generations_in_l1()
        hot_keys.sample(read.names.values())
        layers = self._layers(group)
        first = layers[0].ask(read.names.values()) if layers and read.names else None

        def collect() -> Read:
            if first is not None:
                self._descend(read, read.names.values(), layers, first)
            if not self.is_in_force:
                read.forget()
            return read

        return collect

    def read_below(self, read: Read, refused: Collection[bytes]) -> None:
        """Read the `refused` keys again, each from the layers below the one that returned an unusable item."""
        found_in: dict[Layer, list[bytes]] = {}
        for key in refused:
            found_in.setdefault(read.refuse(key), []).append(key)
        for layer, keys in found_in.items():
            layers = self._layers(read.group)
            self._descend(read, keys, layers[layers.index(layer) + 1 :])

    def refill(self, read: Read) -> None:
        """Copy items from each layer that was read to the layers above it, unless these have newer items by then."""
        layers = self._layers(read.group)
        for layer, items in read.answers:
            above = layers[: layers.index(layer)]
            if not above or not items or not read.is_fresh:
                continue
            found = {key: item for key, item in items.items() if read.items.get(key) is item}
            for higher in reversed(above):
                if found and higher not in (self.main.other, self.backup.other):
                    higher.refill(read.replacing(higher, found), read.nodes)

    def before_change(self, keys: Collection[str]) -> Read:
        """An empty `Read` for keys that cannot exist yet, because their rows are not committed.

        Call it in the transaction, and pass the result to `fill` after the commit. Its time and generations are older
        than the commit. So `fill` stores nothing if so much time has passed that the tombstone of a later change may
        have expired, and it stores nothing on a node that has missed a write in the meantime.
        """
        group = random.choice(self.groups) if self.groups else None  # noqa: S311 -- not a secret
        read = Read(named(keys), group)
        read.nodes |= {node: now for node in self.nodes() if (now := node.current()) is not None}
        return read

    def is_current(self, read: Read) -> bool:
        """Whether, as far as this process knows, all nodes still have the generations under which they answered."""
        return all(node.current() == generation for node, generation in read.nodes.items())

    def learn(self, generations: Mapping[bytes, bytes]) -> None:
        """Note the lowest readable generations of nodes, given as a hash from Redis."""
        if generations == self._learned:  # the usual case
            return
        lowest = parse_generations(generations)
        for node in self.nodes():
            node.health.learn(lowest.get(node.name, 0))
        self._learned = generations

    def _generations_in_l1(self) -> dict[MemcachedNode, int]:
        nodes = [slot.node for group in self.groups for slot in group.slots]
        return {node: now for node in nodes if (now := node.current()) is not None}

    def _layers(self, group: Layer | None) -> list[Layer]:
        layers: list[Layer | None] = [group]
        for pool in (self.main, self.backup):
            layers += [pool, pool.other] if pool.reads_other else [pool]
        return [layer for layer in layers if layer and layer.slots]

    def _descend(
        self,
        read: Read,
        missing: Collection[bytes],
        layers: Collection[Layer],
        first: Callable[[], Reading] | None = None,
    ) -> None:
        """Query layer after layer for missing keys. `first` waits for a request already sent to the first layer."""
        for layer in layers:
            reading, first = (first or partial(layer.read, missing))(), None
            read.nodes |= reading.nodes
            read.take(layer, reading.items)
            if len(reading.items) == len(missing) == len(read.items):
                return  # the usual case
            # after a tombstone in L1, Main may have a newer value; a tombstone in a lower layer ends the search
            ended = () if layer is read.group else read.tokens.get(layer, ())
            missing = [key for key in missing if key not in read.items and key not in ended]
            if not missing:
                return

    # -- writing ---------------------------------------------------------------------------------

    def set_many(self, values: Mapping[str, bytes], *, ttl_seconds: int) -> bool:
        """Store committed values, at most 1,000; returns whether each of them is in Main or Backup.

        It is for keys that contain a revision, or that have only one writer. Values with several writers need
        `update`.
        """
        names, ttl_seconds = named(values), bounded(ttl_seconds)
        items = {key: make(Kind.VALUE, values[name], ttl_seconds) for name, key in names.items()}
        return self._store(items, ttl_seconds=ttl_seconds) and len(items) == len(values)

    def append_many(self, appends: Mapping[str, Append]) -> Callable[[], bool]:
        """Append to values in all layers now. The returned function must be called: it waits until all layers have the
        bytes, and returns False if a node may lack them and this could not be announced to the other processes.

        It takes one round trip, and sometimes another one while a pool is being resized. L1 gets the bytes too, because
        a tombstone there would send readers to Main, which may not have them yet.
        """
        names, layers = named(appends), (self.main, self.backup, *self.groups)
        raw = {key: appends[name] for name, key in names.items()}
        # second slots that hold no values get tombstones, as when an item is stored
        items = dict.fromkeys(raw, Item(b""))
        emptied = [copy for one in layers if not one.reads_other for copy in one.copies(items, 0)]
        if emptied:
            set_everywhere(emptied)
        wait = send_appends(layers, raw)

        def result() -> bool:
            wait()
            return self.announce_missed()

        return result

    def delete_many(self, keys: Collection[str]) -> bool:
        """Delete at most 1,000 keys, so that no older value is found under them afterwards.

        It stores tombstones: during their short life no reader can refill an older value.
        """
        items = dict.fromkeys(named(keys).values(), _tombstone())
        return self._store(items, ttl_seconds=TOMBSTONE_SECONDS)

    def gets(self, key: str) -> tuple[bytes, Token] | None:
        """A value and its token, from Main, or from Backup while Main fails; None on a miss.

        A key that is moving to another slot is a miss: writers with different topologies would change different copies.
        """
        raws = named([key]).values()
        return next((self._gets(raw) for raw in raws if not self._is_moving(raw)), None)

    def cas(self, key: str, value: bytes, token: Token, *, ttl_seconds: int) -> bool:
        """Replace the value that `gets` read. Returns False if value or topology have changed, or the node failed."""
        return any(
            self._cas(raw, value, token, ttl_seconds=bounded(ttl_seconds))
            for raw in named([key]).values()
        )

    def update(self, key: str, change: Change, *, ttl_seconds: int, tries: int = CAS_TRIES) -> bool:
        """Change a stored value, safely with several writers; if that fails, delete it and return False."""
        for _ in range(tries):
            found = self.gets(key)
            if found is None:
                break
            value, token = found
            if self.cas(key, change(value), token, ttl_seconds=ttl_seconds):
                return True
        self.delete_many([key])  # L1 may still have a value that Main and Backup have lost
        return False

    def _store(self, items: Items, *, ttl_seconds: int) -> bool:
        """Store items; returns whether each is in Main or Backup. L1 gets a tombstone for each that is in neither."""
        in_main = self.main.write(b"set", items, ttl_seconds=ttl_seconds)
        rest = {key: item for key, item in items.items() if key not in in_main}
        in_backup = self.backup.write(b"set", rest, ttl_seconds=ttl_seconds) if rest else set()
        stored = {key: items[key] for key in (*in_main, *in_backup)}
        failed = dict.fromkeys(rest.keys() - in_backup, _tombstone())
        set_everywhere(
            [
                (self.backup, {key: items[key] for key in in_main}, ttl_seconds),
                *((group, stored, ttl_seconds) for group in self.groups),
                *((group, failed, TOMBSTONE_SECONDS) for group in self.groups),
            ]
        )
        return not failed

    def _is_moving(self, key: bytes) -> bool:
        return self.main.is_moving(key) or self.backup.is_moving(key)

    def _gets(self, key: bytes) -> tuple[bytes, Token] | None:
        answered, value = _read_one(self.main, key)
        if answered and value is None and self._promote(key):
            answered, value = _read_one(self.main, key)
        return value if answered else _read_one(self.backup, key)[1]

    def _cas(self, key: bytes, value: bytes, token: Token, *, ttl_seconds: int) -> bool:
        """Replace a value where it was read, then in all other layers.

        If two writers succeed one after the other, the first may reach the other layers last. So after writing to those
        layers, each writer reads the value again in the layer where the value was replaced. If a later value is there,
        the writer replaces the copies in the other layers with tombstones.
        """
        base = token.layer
        if base not in (self.main, self.backup) or base.slot_of(key).node is not token.node:
            return False  # the topology changed
        item = make(Kind.VALUE, value, ttl_seconds)
        if not base.write(
            b"cas", {key: item._replace(token=token.number)}, ttl_seconds=ttl_seconds
        ):
            return False
        layers = (self.main, self.backup, *self.groups)
        others = [layer for layer in layers if layer is not base]
        set_everywhere([(layer, {key: item}, ttl_seconds) for layer in others])
        now = base.read([key]).items.get(key)
        if now is not None and now.data != value:
            set_everywhere([(layer, {key: _tombstone()}, TOMBSTONE_SECONDS) for layer in others])
        return True

    def _promote(self, key: bytes) -> bool:
        """If only Backup has the value, copy it to Main, where all writers compare it. Returns False otherwise."""
        item = self.backup.read([key]).items.get(key)
        if item is None or item.kind != Kind.VALUE:
            return False
        ttl_seconds = bounded(item.ends - int(time.time())) if item.ends else TOMBSTONE_SECONDS
        self.main.write(b"add", {key: item._replace(token=0)}, ttl_seconds=ttl_seconds)
        return True

    def announce_missed(self) -> bool:
        """Announce immediately which nodes missed a write of this process. Call it before acknowledging the write.

        Makes no request if no node missed a write. Returns False if Redis did not receive the announcement.
        """
        announced = [node.health.announce(at_once=True) for node in self.nodes()]
        return all(announced)

    # -- for loaders -----------------------------------------------------------------------------

    def fill(self, read: Read, items: Items, *, release: Collection[bytes] = ()) -> None:
        """Release leases, and store values loaded after `read`, unless `read` is too old, something newer is stored, or
        the topology may be outdated.
        """
        if not read.is_fresh or not self.is_in_force:
            items = {}
        for layer in (self.main, self.backup):
            layer.refill(read.replacing(layer, items), read.nodes, release=release)
        groups = self.groups if self._refills_all_l1 else tuple(filter(None, [read.group]))
        for layer in groups:
            layer.refill(read.replacing(layer, items), read.nodes)

    def lease(self, read: Read, keys: Collection[bytes]) -> Leases:
        """Try to become the loader of keys, on Main, or else on Backup. If neither answers, the key is left out."""
        leases = Leases()
        for layer in (self.main, self.backup):
            rest = [key for key in keys if key not in leases.won and key not in leases.lost]
            if rest and layer.slots:
                answer = layer.lease(rest)
                read.nodes |= answer.reading.nodes
                read.take(layer, answer.reading.items)
                leases.won |= answer.won
                leases.lost |= answer.lost
        return leases

    # -- health ----------------------------------------------------------------------------------

    @property
    def is_configured(self) -> bool:
        return bool(self.main.slots)

    def ping(self) -> bool:
        """Whether there are nodes, and all of them answer."""
        return self.is_configured and all(node.ping() for node in self.nodes())

    def nodes(self) -> Iterator[MemcachedNode]:
        for layer in (self.main, self.backup, *self.groups):
            for slot in layer.slots:
                yield slot.node


class _CurrentTiers:
    """The tiers of this process. `missed_writes`: a write may have used an outdated topology (see `_renew`)."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.cache: TieredCache | None = None
        self.is_following = False
        self.missed_writes = False

    def after_fork(self) -> None:
        """Make new clients in a child process, because the parent still uses its connections and locks."""
        self.lock = threading.Lock()
        _listener_redis.cache_clear()
        if self.cache is not None:
            until, self.cache = self.cache.until, TieredCache(self.cache.topology, {})
            self.cache.until = until


_current = _CurrentTiers()
os.register_at_fork(after_in_child=_current.after_fork)


def tiers() -> TieredCache:
    """The tiers for one operation, in this process's newest topology; no nodes while this topology may be outdated."""
    if not (_current.is_following and _current.cache is not None):
        _begin_to_follow()
    cache = _current.cache
    return cache if cache is not None and cache.is_in_force else _no_tiers()


def write_in_force(write: Callable[[TieredCache], T]) -> T:
    """Write to the tiers, and repeat the write if their topology may have become outdated in the meantime.

    If the topology is not confirmed in time, everything cached is dropped as soon as it is confirmed.
    """
    cache = tiers()
    result = write(cache)
    if cache.is_in_force:
        return result
    if not _current.missed_writes:  # else everything is dropped anyway
        listener().wait_until_confirmed()
    cache = tiers()
    result = write(cache)
    if cache.is_in_force:
        return result
    if not _current.missed_writes:
        logger.error("a change may have missed Memcached: everything cached will be dropped")
    _current.missed_writes = True
    return result


def _no_tiers() -> TieredCache:
    cache = TieredCache(Topology(), {})
    cache.until = -math.inf
    return cache


def _begin_to_follow() -> None:
    with _current.lock:
        is_first, _current.is_following = not _current.is_following, True
    if is_first:
        listener().subscribe(_follow)
        listener().each_confirmation(_renew)
        listener().every_second(sync_nodes)
        listener().every_second(_send_hot_keys)
        sync_nodes()
    current()  # starts the listener
    if _current.cache is None:
        topology = listener().known()
        # without a topology, it is unknown which cached values are valid, so none are used
        if topology is not None:
            use_topology(topology)
            _renew()


def use_topology(topology: Topology, *, hold_seconds: float = 0) -> None:
    """Switch to another topology. Operations in progress finish with the old topology.

    Nodes that stay in their places keep their clients, unless the epoch has changed. The other nodes are new, and are
    not used for `hold_seconds`.
    """
    with _current.lock:
        old = {node.key: node for node in _current.cache.nodes()} if _current.cache else {}
        cache = _current.cache = TieredCache(topology, old)
        cache.until = listener().until
    nodes = set(cache.nodes())
    if old and hold_seconds:
        for node in nodes.difference(old.values()):
            node.health.hold(hold_seconds)
    for node in old.values():
        if node not in nodes:
            node.retire()


def _follow(topology: Topology) -> None:
    """Use a new topology, but its new nodes only after a while.

    Until all processes have switched, some of them do not write to the new nodes, so these may have old values.
    """
    if _current.cache is None:
        return
    mine = _current.cache.topology
    is_another_epoch = topology.version == mine.version and topology.epoch != mine.epoch
    if topology.version > mine.version or is_another_epoch:
        use_topology(topology, hold_seconds=HOLD_SECONDS)


def _renew() -> None:
    """Extend the use of the topology, which has been confirmed; drop everything cached if a write was missed."""
    cache, own = _current.cache, listener()
    if cache is None or cache.topology.version < own.topology.version:
        return
    cache.until = own.until
    if _current.missed_writes and cache.is_in_force:
        _current.missed_writes = False
        for node in cache.nodes():
            node.miss_write()


def sync_nodes() -> None:
    """Tell other processes which nodes have missed writes, and learn the same from them. Called once a second."""
    if _current.cache is not None:
        sync_generations(list(_current.cache.nodes()), by=_listener_redis())


def _send_hot_keys() -> None:
    hot_keys.send(by=_listener_redis())


@cache
def _listener_redis() -> Redis:
    """A separate client for the listener's thread, which may run during a fork, and for the first `sync_nodes`."""
    return dedicated_configuration()
