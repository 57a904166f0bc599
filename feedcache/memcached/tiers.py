"""The tiers of Memcached (sources 000, 002): many small equal L1 groups, Main, and Backup behind it.

A read asks one L1 group chosen at random, then Main, then Backup, each only for what is still missing, and adds its
results to the layers above. A write goes to Main, then to all others at once. When Main fails, Backup takes its place;
when both fail nothing was written. `gets` and `cas` work on Main, else on Backup, never on L1.

Without L1 there are two layers, without Backup one, without Main none: then every read is a miss, every write False.
A failure is a miss. Which memory of a failed node may be read: see `node`. Departures from the articles, and why:
docs/decisions/0009.
"""

import os
import random
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from typing import cast

from feedcache.memcached.layer import Items, Layer, Leases, Reading, bounded, layer_of, make
from feedcache.memcached.node import MemcachedNode, NodeKey, sync_generations
from feedcache.memcached.protocol import Kind
from feedcache.memcached.reads import ABSENT, Read, Token, named
from feedcache.memcached.topology_listener import current, listener
from feedcache.memcached.writes import Writes
from feedcache.redis_servers.connections import Redis, dedicated_timelines, refills_all_l1
from feedcache.topology import Topology

Change = Callable[[bytes], bytes]

CAS_TRIES = 8
HOLD_SECONDS = (
    1.2  # longer than a new topology takes to reach all processes, which poll every second
)


class TieredCache:
    """The tiers of one topology. Immutable; a new topology is a new object that shares the clients of unchanged nodes."""

    def __init__(self, topology: Topology, clients: Mapping[NodeKey, MemcachedNode]) -> None:
        self.topology = topology
        self.main = layer_of("main", topology.main, clients)
        self.backup = layer_of("backup", topology.backup, clients)
        self.groups = tuple(layer_of("l1", group, clients) for group in topology.l1)
        self._writes = Writes(self.main, self.backup, self.groups)

    # -- reading ---------------------------------------------------------------------------------

    def get_many(self, keys: Collection[str]) -> dict[str, bytes]:
        """The values present. At most 1,000 keys."""
        read = self.read(keys)
        self.refill(read)
        names = read.names
        return {
            names[key]: item.data for key, item in read.items.items() if not item.flags & ABSENT
        }

    def read(self, keys: Collection[str]) -> Read:
        """A read for `fill` and `refill` afterwards; stores nothing yet."""
        return self.ask(keys)()

    def ask(self, keys: Collection[str]) -> Callable[[], Read]:
        """`read`, sent to the first layer now; the result waits for the answers, and must be called."""
        group = random.choice(self.groups) if self.groups else None  # noqa: S311 -- not a secret
        read = Read(named(keys), group)
        if refills_all_l1():
            read.nodes |= self._generations_in_l1()
        layers = self._layers(group)
        first = layers[0].ask(read.names.keys()) if layers and read.names else None

        def collect() -> Read:
            if first is not None:
                self._descend(read, read.names.keys(), layers, first)
            return read

        return collect

    def read_below(self, read: Read, refused: Collection[bytes]) -> None:
        """Read some keys again, below the layers whose items are unusable."""
        found_in: dict[Layer, list[bytes]] = {}
        for key in refused:
            found_in.setdefault(read.refuse(key), []).append(key)
        for layer, keys in found_in.items():
            layers = self._layers(read.group)
            self._descend(read, keys, layers[layers.index(layer) + 1 :])

    def refill(self, read: Read) -> None:
        """Store items of a lower layer in those above it that were asked, unless something newer came meanwhile."""
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
        """The result of a read of keys that cannot exist yet, without asking a node. For `fill`, after the commit of new rows.

        Called in the transaction of the change: values and tombstones that others store from its commit on are newer, and stay.
        """
        group = random.choice(self.groups) if self.groups else None  # noqa: S311 -- not a secret
        read = Read(named(keys), group)
        read.nodes |= {node: now for node in self.nodes() if (now := node.current()) is not None}
        return read

    def is_current(self, read: Read) -> bool:
        """Whether all nodes still have the generations under which they answered, as far as this process knows."""
        return all(node.current() == generation for node, generation in read.nodes.items())

    def _generations_in_l1(self) -> dict[MemcachedNode, int]:
        nodes = [slot.node for group in self.groups for slot in group.slots]
        return {node: now for node in nodes if (now := node.current()) is not None}

    def _layers(self, group: Layer | None) -> list[Layer]:
        return [layer for layer in (group, self.main, self.backup) if layer and layer.slots]

    def _descend(
        self,
        read: Read,
        missing: Collection[bytes],
        layers: Collection[Layer],
        first: Callable[[], Reading] | None = None,
    ) -> None:
        """Ask layer after layer for missing keys; the first layer may have been asked already (`first`)."""
        for layer in layers:
            reading, first = (first or partial(layer.read, missing))(), None
            read.nodes |= reading.nodes
            read.take(layer, reading.items)
            if len(reading.items) == len(missing) == len(read.items):
                return  # the usual case
            # a tombstone in L1 leads to Main; one in Main ends the search
            ended = () if layer is read.group else read.tokens.get(layer, ())
            missing = [key for key in missing if key not in read.items and key not in ended]
            if not missing:
                return

    # -- writing ---------------------------------------------------------------------------------

    def set_many(self, values: Mapping[str, bytes], *, ttl_seconds: int) -> bool:
        """Store committed values; whether each is in Main or Backup. At most 1,000.

        For keys that contain their version, or have one writer. Values with several writers need `update`.
        """
        names, ttl_seconds = named(values), bounded(ttl_seconds)
        items = {key: make(Kind.VALUE, values[name], ttl_seconds) for key, name in names.items()}
        return self._writes.store(items, ttl_seconds=ttl_seconds) and len(items) == len(values)

    def delete_many(self, keys: Collection[str]) -> bool:
        """No older value will be found under these keys. At most 1,000.

        Stores tombstones: during their short life no reader can refill an older value.
        """
        return self._writes.mark_deleted(named(keys))

    def gets(self, key: str) -> tuple[bytes, Token] | None:
        """A value and its token, from Main, from Backup only while Main fails; None on a miss."""
        return next((self._writes.gets(raw) for raw in named([key])), None)

    def cas(self, key: str, value: bytes, token: Token, *, ttl_seconds: int) -> bool:
        """Replace the value that `gets` read; False when it has changed, or the node failed."""
        return any(
            self._writes.cas(raw, value, token, ttl_seconds=bounded(ttl_seconds))
            for raw in named([key])
        )

    def update(self, key: str, change: Change, *, ttl_seconds: int, tries: int = CAS_TRIES) -> bool:
        """Change a stored value, however many writers there are; when that fails, delete it and return False."""
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
        """Announce at once which nodes missed a write of this process, before the write is acknowledged.

        Asks no server when none did. False when Redis did not take the announcement.
        """
        announced = [node.health.announce(at_once=True) for node in self.nodes()]
        return all(announced)

    # -- for those who load ----------------------------------------------------------------------

    def fill(self, read: Read, items: Items, *, release: Collection[bytes] = ()) -> None:
        """Store values loaded after `read`, unless something newer came meanwhile, and release leases."""
        if not read.is_fresh:
            items = {}
        for layer in (self.main, self.backup):
            layer.refill(read.replacing(layer, items), read.nodes, release=release)
        groups = self.groups if refills_all_l1() else tuple(filter(None, [read.group]))
        for layer in groups:
            layer.refill(read.replacing(layer, items), read.nodes)

    def lease(self, read: Read, keys: Collection[bytes]) -> Leases:
        """Try to become the loader, on Main, else on Backup; keys that neither answers for cannot be leased."""
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
        """Whether every node answers."""
        return self.is_configured and all(node.ping() for node in self.nodes())

    def nodes(self) -> Iterator[MemcachedNode]:
        for layer in (self.main, self.backup, *self.groups):
            for slot in layer.slots:
                yield slot.node


class _CurrentTiers:
    """The tiers of this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.cache: TieredCache | None = None
        self.is_following = False

    def after_fork(self) -> None:
        """In a child: the parent goes on using its connections and locks."""
        self.lock = threading.Lock()
        _listener_redis.cache_clear()
        if self.cache is not None:
            self.cache = TieredCache(self.cache.topology, {})


_current = _CurrentTiers()
os.register_at_fork(after_in_child=_current.after_fork)


def tiers() -> TieredCache:
    """The tiers for one operation, by the newest topology this process knows."""
    if not _current.is_following:
        with _current.lock:
            is_first, _current.is_following = not _current.is_following, True
        if is_first:
            listener().subscribe(_follow)
            listener().every_second(sync_nodes)
            sync_nodes()
    current()  # keeps the listener running
    if _current.cache is None:
        use_topology(listener().topology)
    return cast("TieredCache", _current.cache)


def use_topology(topology: Topology, *, hold_seconds: float = 0) -> None:
    """Swap to another topology; operations under way end with the one they began with.

    Nodes that stay in their places keep their clients. New nodes are not used for `hold_seconds`.
    """
    with _current.lock:
        old = {node.key: node for node in _current.cache.nodes()} if _current.cache else {}
        cache = _current.cache = TieredCache(topology, old)
    nodes = set(cache.nodes())
    if old and hold_seconds:
        for node in nodes.difference(old.values()):
            node.health.hold(hold_seconds)
    for node in old.values():
        if node not in nodes:
            node.retire()


def _follow(topology: Topology) -> None:
    """Processes change over one after another: until all have, some would not write to a new node that others read."""
    if _current.cache is None or topology.version > _current.cache.topology.version:
        use_topology(topology, hold_seconds=HOLD_SECONDS)


def sync_nodes() -> None:
    """Once a second: exchange with other processes which nodes missed writes."""
    if _current.cache is not None:
        sync_generations(list(_current.cache.nodes()), by=_listener_redis())


@cache
def _listener_redis() -> Redis:
    """Connections of the listener's thread alone, which may be running while the process forks."""
    return dedicated_timelines()
