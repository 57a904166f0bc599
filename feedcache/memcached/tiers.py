"""The tiers of Memcached (sources 000, 002): many small equal L1 groups, Main, and Backup behind it.

A read asks one L1 group chosen at random, then Main, then Backup, each only for what is still missing, and adds what it
found to the layers above. A write goes to Main, then to all others at once. When Main fails, Backup takes its place;
when both fail nothing was written. `gets` and `cas` work on Main, else on Backup, never on L1.

Without L1 there are two layers, without Backup one, without Main none: then every read is a miss, every write False.
A failure is a miss. What may be read of a node that failed: see `nodes`. What departs from the articles, and why:
docs/decisions/0009.
"""

import os
import random
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from typing import cast

from feedcache.memcached.layer import Items, Layer, Leases, Reading, bounded, layer_of, make
from feedcache.memcached.node import MemcachedNode, Place, look_after
from feedcache.memcached.protocol import Kind
from feedcache.memcached.reads import ABSENT, Read, Token, named
from feedcache.memcached.topology_listener import current, listener
from feedcache.memcached.writes import Writes
from feedcache.redis_servers.connections import Redis, refills_all_l1, timelines_apart
from feedcache.topology import Topology

Change = Callable[[bytes], bytes]

CAS_TRIES = 8
HOLD_SECONDS = 1.2  # longer than the news of a topology takes: each process looks every second


class TieredCache:
    """The tiers of one topology. Immutable; a new topology is a new object that shares the clients of unchanged nodes."""

    def __init__(self, topology: Topology, known: Mapping[Place, MemcachedNode]) -> None:
        self.topology = topology
        self.main = layer_of("main", topology.main, known)
        self.backup = layer_of("backup", topology.backup, known)
        self.groups = tuple(layer_of("l1", group, known) for group in topology.l1)
        self._writes = Writes(self.main, self.backup, self.groups)

    # -- reading ---------------------------------------------------------------------------------

    def get_many(self, keys: Collection[str]) -> dict[str, bytes]:
        """The values present. At most 1,000 keys a call."""
        read = self.read(keys)
        self.refill(read)
        names = read.names
        return {
            names[key]: item.data for key, item in read.items.items() if not item.flags & ABSENT
        }

    def read(self, keys: Collection[str]) -> Read:
        """The same with what is known about each key, for those who load what is missing. Nothing is refilled yet."""
        return self.ask(keys)()

    def ask(self, keys: Collection[str]) -> Callable[[], Read]:
        """The same, sent to the first layer now; what is returned waits for the answers, and must be called."""
        group = random.choice(self.groups) if self.groups else None  # noqa: S311 -- not a secret
        read = Read(named(keys), group)
        if refills_all_l1():
            read.nodes |= self._generations_in_l1()
        ways = self._ways(group)
        first = ways[0].ask(read.names.keys()) if ways and read.names else None

        def collect() -> Read:
            if first is not None:
                self._descend(read, read.names.keys(), ways, first)
            return read

        return collect

    def read_below(self, read: Read, refused: Collection[bytes]) -> None:
        """Ask for some keys again, below the layers whose answers are of no use."""
        found_in: dict[Layer, list[bytes]] = {}
        for key in refused:
            found_in.setdefault(read.refuse(key), []).append(key)
        for layer, keys in found_in.items():
            ways = self._ways(read.group)
            self._descend(read, keys, ways[ways.index(layer) + 1 :])

    def refill(self, read: Read) -> None:
        """Store what was found in a lower layer in those above it that were asked, where nothing newer came meanwhile."""
        for layer, items in read.answers:
            has_above = layer is self.backup or (read.group and layer is not read.group)
            if not has_above or not items or not read.is_fresh:
                continue
            found = {key: item for key, item in items.items() if read.items.get(key) is item}
            if found and layer is self.backup:
                self.main.refill(read.replacing(self.main, found), read.nodes)
            if found and read.group:
                read.group.refill(read.replacing(read.group, found), read.nodes)

    def before_change(self, keys: Collection[str]) -> Read:
        """What a read of keys that nobody can have yet would find: nothing. For `fill`, after the commit of what is new.

        Called in the transaction of the change: what others store or bury from its commit on is newer, and stays. Asks
        nobody.
        """
        group = random.choice(self.groups) if self.groups else None  # noqa: S311 -- not a secret
        read = Read(named(keys), group)
        read.nodes |= {node: now for node in self.nodes() if (now := node.current()) is not None}
        return read

    def is_current(self, read: Read) -> bool:
        """Whether all nodes may be read, as far as this process knows by now, as they were when they answered."""
        return all(node.current() == generation for node, generation in read.nodes.items())

    def _generations_in_l1(self) -> dict[MemcachedNode, int]:
        nodes = [slot.node for group in self.groups for slot in group.slots]
        return {node: now for node in nodes if (now := node.current()) is not None}

    def _ways(self, group: Layer | None) -> list[Layer]:
        return [layer for layer in (group, self.main, self.backup) if layer and layer.slots]

    def _descend(
        self,
        read: Read,
        missing: Collection[bytes],
        ways: Collection[Layer],
        first: Callable[[], Reading] | None = None,
    ) -> None:
        """Ask layer after layer for what is missing; `first` is the question that the first of them has already."""
        for layer in ways:
            reading, first = (first or partial(layer.read, missing))(), None
            read.nodes |= reading.nodes
            read.take(layer, reading.items)
            if len(reading.items) == len(missing) == len(read.items):
                return  # the usual case
            # a tombstone in L1 sends to Main; one in Main is the end of the search
            ended = () if layer is read.group else read.tokens.get(layer, ())
            missing = [key for key in missing if key not in read.items and key not in ended]
            if not missing:
                return

    # -- writing ---------------------------------------------------------------------------------

    def set_many(self, values: Mapping[str, bytes], *, ttl_seconds: int) -> bool:
        """Store values known to be committed; whether each is in Main or Backup. At most 1,000 a call.

        For keys that hold their version, or have one writer. What several may change at once needs `update`.
        """
        names, ttl_seconds = named(values), bounded(ttl_seconds)
        items = {key: make(Kind.VALUE, values[name], ttl_seconds) for key, name in names.items()}
        return self._writes.store(items, ttl_seconds=ttl_seconds) and len(items) == len(values)

    def delete_many(self, keys: Collection[str]) -> bool:
        """Nothing older than now will be found under these keys. At most 1,000 a call.

        What is stored is a tombstone: for its short life nobody can refill what was read before.
        """
        return self._writes.mark_deleted(named(keys))

    def gets(self, key: str) -> tuple[bytes, Token] | None:
        """A value and the token to replace it, from Main, from Backup only while Main fails; None when there is none."""
        return next((self._writes.gets(raw) for raw in named([key])), None)

    def cas(self, key: str, value: bytes, token: Token, *, ttl_seconds: int) -> bool:
        """Replace what `gets` read; False when something else is there by now, or the node failed."""
        return any(
            self._writes.cas(raw, value, token, ttl_seconds=bounded(ttl_seconds))
            for raw in named([key])
        )

    def update(self, key: str, change: Change, *, ttl_seconds: int, tries: int = CAS_TRIES) -> bool:
        """Change a value that is stored, however many do so at once; when that fails, delete it and say False."""
        for _ in range(tries):
            found = self.gets(key)
            if found is None:
                break
            value, token = found
            if self.cas(key, change(value), token, ttl_seconds=ttl_seconds):
                return True
        self.delete_many([key])  # L1 may have what Main and Backup have lost
        return False

    def announce_missed(self) -> bool:
        """Tell everybody at once which nodes missed a write of this process, before a write is acknowledged.

        Asks nobody when none did. False when it could not be told.
        """
        told = [node.suspicion.announce(at_once=True) for node in self.nodes()]
        return all(told)

    # -- for those who load ----------------------------------------------------------------------

    def fill(self, read: Read, items: Items, *, release: Collection[bytes] = ()) -> None:
        """Store what was loaded after `read`, unless something newer came meanwhile, and let others load."""
        if not read.is_fresh:
            items = {}
        for layer in (self.main, self.backup):
            layer.refill(read.replacing(layer, items), read.nodes, release=release)
        groups = self.groups if refills_all_l1() else tuple(filter(None, [read.group]))
        for layer in groups:
            layer.refill(read.replacing(layer, items), read.nodes)

    def lease(self, read: Read, keys: Collection[bytes]) -> Leases:
        """Ask to be the one who loads, on Main, else on Backup; what is in neither cannot be leased."""
        leases = Leases()
        for layer in (self.main, self.backup):
            left = [key for key in keys if key not in leases.won and key not in leases.lost]
            if left and layer.slots:
                found = layer.lease(left)
                read.nodes |= found.reading.nodes
                read.take(layer, found.reading.items)
                leases.won |= found.won
                leases.lost |= found.lost
        return leases

    # -- health ----------------------------------------------------------------------------------

    @property
    def is_configured(self) -> bool:
        """Whether there is a node at all."""
        return bool(self.main.slots)

    def ping(self) -> bool:
        """Whether every node answers."""
        return self.is_configured and all(node.ping() for node in self.nodes())

    def nodes(self) -> Iterator[MemcachedNode]:
        """The clients of all nodes."""
        for layer in (self.main, self.backup, *self.groups):
            for slot in layer.slots:
                yield slot.node


class _Used:
    """The tiers of this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.cache: TieredCache | None = None
        self.follows = False

    def after_fork(self) -> None:
        """In a child: the parent goes on using its connections and locks."""
        self.lock = threading.Lock()
        _redis_of_looks.cache_clear()
        if self.cache is not None:
            self.cache = TieredCache(self.cache.topology, {})


_used = _Used()
os.register_at_fork(after_in_child=_used.after_fork)


def tiers() -> TieredCache:
    """The tiers for one operation, by the newest topology this process knows."""
    if not _used.follows:
        with _used.lock:
            begins, _used.follows = not _used.follows, True
        if begins:
            listener().subscribe(_follow)
            listener().every_second(look)
            look()
    current()  # keeps the listener running
    if _used.cache is None:
        use_topology(listener().topology)
    return cast("TieredCache", _used.cache)


def use_topology(topology: Topology, *, hold_seconds: float = 0) -> None:
    """Swap to another topology at once; operations under way end with the one they began with.

    The clients of nodes that stay where they are stay too. New nodes are not used for `hold_seconds`.
    """
    with _used.lock:
        old = {node.place: node for node in _used.cache.nodes()} if _used.cache else {}
        cache = _used.cache = TieredCache(topology, old)
    kept = set(cache.nodes())
    if old and hold_seconds:
        for node in kept.difference(old.values()):
            node.suspicion.hold(hold_seconds)
    for node in old.values():
        if node not in kept:
            node.retire()


def _follow(topology: Topology) -> None:
    """Processes change over one after another: until all have, some would not write to a new node what others read."""
    if _used.cache is None or topology.version > _used.cache.topology.version:
        use_topology(topology, hold_seconds=HOLD_SECONDS)


def look() -> None:
    """Once a second: learn what other processes know of the nodes, and tell them what this one knows."""
    if _used.cache is not None:
        look_after(list(_used.cache.nodes()), by=_redis_of_looks())


@cache
def _redis_of_looks() -> Redis:
    """Connections of the listener's thread alone, which may be at work while the process forks."""
    return timelines_apart()
