"""The cache topology as a value: which Memcached nodes are L1, Main and Backup, and where data in Redis has moved.

The module is pure: it uses no clients and no settings. A change is a new value with a higher version, and every process
swaps the whole value in one step. The slot map of a pool gives the slot of a key, and no failure moves the key to a
different slot. Only a change of the number of slots, which staff begin, moves keys (`Resize`, docs/decisions/0171).

The keys of values in Memcached contain the `generation` of their node and the entry of `epochs` for their class of
data. Both are versions of the topology: the version in which the node was last placed or emptied, or the class was last
flushed. So they only grow, and values stored earlier can no longer be read, even if their node comes back.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any

from feedcache.slot_map import NOWHERE, SlotMap, even_map, from_text, to_text

MAX_NODES = 64  # of all pools together: every write goes to all L1 groups
MAX_MEGABYTES = 1024 * 1024
MAX_URL_CHARACTERS = 200
MAX_NAME_CHARACTERS = 60
L1_GROUPS = (4, 8)  # sources 000, 002: number of groups; without groups there are two layers
L1_SHARES = (6, 10)  # sources 000, 002: a group has 1/6 to 1/10 of Main's memory
BACKUP_SHARE = 2  # source 000: Backup has at most half of Main's memory

CLASSES = ("content", "outbox", "inbox", "graph", "existence", "counters")  # staff can flush each
# Another division, for the data in Redis: each of these classes can move to another server while the site runs.
# Counters move by ranges of ids. Existence filters and Django's cache only move with a restart (docs/decisions/0107).
TENANTS = ("timelines", "graph", "limits", "broadcasts")

_ADDRESS = re.compile(
    r"unix:/[\x21-\x7e]+|(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})"
)
_REDIS_HOST = r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"
_REDIS_ADDRESS = re.compile(
    rf"rediss?://{_REDIS_HOST}(?:/[0-9]{{1,4}})?"
    r"|unix:///[A-Za-z0-9._/-]+(?:\?db=[0-9]{1,4})?"
    rf"|rediss?\+cluster://{_REDIS_HOST}(?:,{_REDIS_HOST})*"
)


class TopologyError(ValueError):
    """The string is not a topology."""


class Pool(StrEnum):
    """The three tiers."""

    L1 = "l1"
    MAIN = "main"
    BACKUP = "backup"


class State(StrEnum):
    """Which requests a node receives."""

    ACTIVE = "active"
    DRAINING = "draining"  # written but not read, until it is replaced


@dataclass(frozen=True, slots=True)
class Node:
    """One Memcached server in a slot. `name` is for staff; a server that is put into another slot gets a new name."""

    name: str
    url: str
    megabytes: int
    generation: int = 0
    state: State = State.ACTIVE

    @property
    def is_read(self) -> bool:
        """Whether the node may be read; otherwise its keys are misses, and the next layer answers."""
        return self.state is State.ACTIVE


@dataclass(frozen=True, slots=True)
class Tenant:
    """The Redis server of one of `TENANTS`, or of a range of counters: its `url` ("": the address in the settings).

    While the data moves, changes that no revision protects (pushes, tombstones, limits, messages) and the rows of
    counters are also sent to `also`.
    """

    url: str = ""
    also: str | None = None

    @property
    def is_moving(self) -> bool:
        return self.also is not None


@dataclass(frozen=True, slots=True)
class Range:
    """The ids of one kind from `low` up to the next range, and the Redis server with their counters."""

    low: int = 0
    tenant: Tenant = Tenant()


Group = tuple[Node, ...]


class Phase(StrEnum):
    """The steps by which a pool changes its number of slots. A step begins when all processes have the one before.

    So processes may differ by one step; each also deletes changed keys in slots that only processes one step
    away use.
    """

    JOINING = "joining"  # the old slots are used; changed keys are also deleted in the new ones
    MOVING = "moving"  # the new slots are read, then the old ones; both are written
    LEAVING = "leaving"  # the new slots are used; changed keys are also deleted in the old ones


@dataclass(frozen=True, slots=True)
class Resize:
    """The change of a pool from one slot map to another."""

    phase: Phase
    old: SlotMap
    new: SlotMap

    @property
    def home(self) -> SlotMap:
        """The map by which keys are read first."""
        return self.old if self.phase is Phase.JOINING else self.new

    @property
    def other(self) -> SlotMap:
        return self.new if self.phase is Phase.JOINING else self.old

    @property
    def reads_other(self) -> bool:
        """Whether the slots of `other` hold values, too, and are read after those of `home`."""
        return self.phase is Phase.MOVING


@dataclass(frozen=True, slots=True)
class Place:
    """A slot of a pool; `group` is 0 except in L1."""

    pool: Pool
    slot: int
    group: int = 0

    def __str__(self) -> str:
        """The place as a string, such as "main 1" or "l1 2/0"."""
        slot = f"{self.group}/{self.slot}" if self.pool is Pool.L1 else str(self.slot)
        return f"{self.pool} {slot}"


@dataclass(frozen=True, slots=True)
class Topology:
    """All nodes by pool and slot. Version 0 is the topology in the settings.

    `epochs`: the versions of the last flushes of `CLASSES`. `tenants`: the Redis servers of those of `TENANTS` that
    have moved. `counters`: the ranges of each kind of id ("posts", "users") whose counters are on several servers or
    have moved. `maps`: the slot maps of the pools whose number of slots has changed. `resizes`: the current changes.

    `epoch` is another number, for everything cached: it is part of every Memcached key, and changes, for example, when
    the database returns to an earlier state (docs/decisions/0135). It belongs to no version, so it is not in `to_json`.
    """

    version: int = 0
    main: Group = ()
    backup: Group = ()
    l1: tuple[Group, ...] = ()
    epochs: Mapping[str, int] = field(default_factory=dict)
    tenants: Mapping[str, Tenant] = field(default_factory=dict)
    counters: Mapping[str, tuple[Range, ...]] = field(default_factory=dict)
    maps: Mapping[Pool, SlotMap] = field(default_factory=dict)
    resizes: Mapping[Pool, Resize] = field(default_factory=dict)
    epoch: int = 0

    def tenant(self, name: str) -> Tenant:
        return self.tenants.get(name, Tenant())

    def epoch_of(self, name: str) -> int:
        return self.epochs.get(name, 0)

    def group(self, pool: Pool) -> Group:
        """The nodes of Main or of Backup."""
        return self.main if pool is Pool.MAIN else self.backup

    def slot_map(self, pool: Pool) -> SlotMap:
        """The map by which the keys of Main or of Backup are read first."""
        if pool in self.resizes:
            return self.resizes[pool].home
        return self.maps.get(pool) or even_map(len(self.group(pool)))

    def places(self) -> Iterator[tuple[Place, Node]]:
        """Every node and its place: Main, Backup, then L1 by group."""
        yield from ((Place(Pool.MAIN, slot), node) for slot, node in enumerate(self.main))
        yield from ((Place(Pool.BACKUP, slot), node) for slot, node in enumerate(self.backup))
        for number, group in enumerate(self.l1):
            yield from ((Place(Pool.L1, slot, number), node) for slot, node in enumerate(group))

    def node_at(self, place: Place) -> Node | None:
        return dict(self.places()).get(place)

    def with_node(self, place: Place, node: Node) -> "Topology":
        """The topology with a different node at an existing place."""
        if place.pool is Pool.MAIN:
            return replace(self, main=_put(self.main, place.slot, node))
        if place.pool is Pool.BACKUP:
            return replace(self, backup=_put(self.backup, place.slot, node))
        group = _put(self.l1[place.group], place.slot, node)
        groups = [*self.l1[: place.group], group, *self.l1[place.group + 1 :]]
        return replace(self, l1=tuple(groups))

    def to_json(self) -> str:
        """The topology as a string; equal topologies have equal strings."""
        document = {
            "version": self.version,
            "main": _lists(self.main),
            "backup": _lists(self.backup),
            "l1": [_lists(group) for group in self.l1],
            "epochs": dict(self.epochs),
            "tenants": {name: [one.url, one.also] for name, one in self.tenants.items()},
            "counters": {
                name: [[one.low, one.tenant.url, one.tenant.also] for one in ranges]
                for name, ranges in self.counters.items()
            },
            "maps": {pool: to_text(slots) for pool, slots in self.maps.items()},
            "resizes": {
                pool: [one.phase.value, to_text(one.old), to_text(one.new)]
                for pool, one in self.resizes.items()
            },
        }
        return json.dumps(document, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> "Topology":
        """The inverse of `to_json`, also for older strings, which lack some fields. Raises TopologyError."""
        try:
            document = json.loads(text)
            topology = cls(
                version=_number(document["version"]),
                main=_group(document["main"]),
                backup=_group(document["backup"]),
                l1=tuple(_group(group) for group in _list(document["l1"])),
                epochs={
                    _text(name): _number(epoch) for name, epoch in dict(document["epochs"]).items()
                },
                tenants={  # missing in old texts
                    _text(name): _tenant(*_list(urls))
                    for name, urls in dict(document.get("tenants", {})).items()
                },
                counters={  # as above
                    _text(name): _ranges(_list(ranges))
                    for name, ranges in dict(document.get("counters", {})).items()
                },
                maps={
                    _resizable(pool): from_text(_text(slots))
                    for pool, slots in dict(document.get("maps", {})).items()
                },
                resizes={
                    _resizable(pool): _resize(*_list(one))
                    for pool, one in dict(document.get("resizes", {})).items()
                },
            )
            return _require_slots(topology)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise TopologyError(f"not a topology: {error!r}"[:200]) from None


@dataclass(frozen=True, slots=True)
class Sizes:
    """The size of a node of each pool, in megabytes."""

    main: int = 64
    backup: int = 64
    l1: int = 16


def configured(
    main: Sequence[str],
    backup: Sequence[str] = (),
    l1: Sequence[Sequence[str]] = (),
    *,
    sizes: Sizes = Sizes(),
) -> Topology:
    """The topology in the settings, as version 0. If Main has no node, there are no tiers."""
    if not main:
        return Topology()
    return Topology(
        main=tuple(Node(f"main-{n}", url, sizes.main) for n, url in enumerate(main)),
        backup=tuple(Node(f"backup-{n}", url, sizes.backup) for n, url in enumerate(backup)),
        l1=tuple(
            tuple(Node(f"l1-{number}-{n}", url, sizes.l1) for n, url in enumerate(group))
            for number, group in enumerate(l1)
        ),
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem (the topology is refused) or a warning (staff see it). `code` identifies it for translation."""

    code: str
    values: Mapping[str, object] = field(default_factory=dict)


def problems(topology: Topology) -> list[Finding]:
    """The reasons why a topology cannot be used; [] if it can."""
    findings = []
    if not topology.main and not topology.tenants and not topology.counters:
        findings.append(Finding("no_main"))
    findings += _problems_of_tenants(topology)
    for number, group in enumerate(topology.l1):
        if not group:
            findings.append(Finding("empty_group", {"group": number}))
    places = list(topology.places())
    if len(places) > MAX_NODES:
        findings.append(Finding("too_many", {"count": len(places), "most": MAX_NODES}))
    for place, node in places:
        findings += _problems_of(place, node)
    findings += _duplicates(places)
    if topology.main and not any(node.is_read for node in topology.main):
        findings.append(Finding("main_unread"))
    return findings


def _problems_of(place: Place, node: Node) -> Iterator[Finding]:
    if not is_address(node.url):
        yield Finding("bad_address", {"place": place, "url": node.url})
    if not 1 <= node.megabytes <= MAX_MEGABYTES:
        yield Finding("bad_size", {"place": place, "megabytes": node.megabytes})
    if not (0 < len(node.name) <= MAX_NAME_CHARACTERS and node.name.isprintable()):
        yield Finding("bad_name", {"place": place})


def _problems_of_tenants(topology: Topology) -> Iterator[Finding]:
    for name, tenant in topology.tenants.items():
        for url in filter(None, (tenant.url, tenant.also)):
            if name not in TENANTS or not is_redis_address(name, url):
                yield Finding("bad_redis", {"name": name, "url": url})
    for name, ranges in topology.counters.items():
        for one in ranges:
            for url in filter(None, (one.tenant.url, one.tenant.also)):
                if not is_redis_address("counters", url):
                    yield Finding("bad_redis", {"name": f"counters of {name}", "url": url})


def _duplicates(places: Sequence[tuple[Place, Node]]) -> Iterator[Finding]:
    first: dict[str, Place] = {}
    for place, node in places:
        # a node's name may be the same as its address
        for text in {node.url, node.name}:
            if text in first:
                yield Finding("twice", {"url": text, "place": place, "other": first[text]})
            first[text] = place


def warnings(topology: Topology) -> list[Finding]:
    """Departures from the sizes that the sources recommend. There may be good reasons for them, such as a burst."""
    main = megabytes(topology.main)
    backup = megabytes(topology.backup)
    groups = len(topology.l1)
    findings = []
    if groups and not L1_GROUPS[0] <= groups <= L1_GROUPS[1]:
        minimum, maximum = L1_GROUPS
        values = {"count": groups, "least": minimum, "most": maximum}
        findings.append(Finding("l1_groups", values))
    for number, group in enumerate(topology.l1):
        size = megabytes(group)
        if not main <= size * L1_SHARES[1] <= main * L1_SHARES[1] / L1_SHARES[0]:
            minimum, maximum = -(-main // L1_SHARES[1]), main // L1_SHARES[0]
            sizes = {"group": number, "megabytes": size, "least": minimum, "most": maximum}
            findings.append(Finding("l1_size", sizes))
    if backup * BACKUP_SHARE > main:
        findings.append(Finding("backup_size", {"megabytes": backup, "most": main // BACKUP_SHARE}))
    return findings


def is_address(url: str) -> bool:
    """Whether a string has the form unix:/path or host:port."""
    match = _ADDRESS.fullmatch(url) if len(url) <= MAX_URL_CHARACTERS else None
    return match is not None and (match["port"] is None or 0 < int(match["port"]) < 65536)


def is_redis_address(name: str, url: str) -> bool:
    """Whether a string has the form redis://host:port/db, rediss://..., unix:///path?db=n or
    redis+cluster://host:port,host:port.

    The address must not contain a login, because staff can read it; the login in the settings is used. Counters may not
    be on a cluster, because each range of counters needs a single server.
    """
    if name == "counters" and "+cluster:" in url:
        return False
    return len(url) <= MAX_URL_CHARACTERS and _REDIS_ADDRESS.fullmatch(url) is not None


def megabytes(group: Group) -> int:
    return sum(node.megabytes for node in group)


def _put(group: Group, slot: int, node: Node) -> Group:
    return (*group[:slot], node, *group[slot + 1 :])


def _lists(group: Group) -> list[list[object]]:
    return [
        [node.name, node.url, node.megabytes, node.generation, node.state.value] for node in group
    ]


def _group(nodes: object) -> Group:
    return tuple(_node(*_list(node)) for node in _list(nodes))


def _node(name: Any, url: Any, megabytes: Any, generation: Any, state: Any) -> Node:
    return Node(_text(name), _text(url), _number(megabytes), _number(generation), State(state))


def _tenant(url: Any, also: Any) -> Tenant:
    return Tenant(_text(url), None if also is None else _text(also))


def _ranges(rows: list[Any]) -> tuple[Range, ...]:
    """The ranges in rows; the first begins at 0, and each of the others above the one before it."""
    ranges = [Range(_number(low), _tenant(url, also)) for low, url, also in map(_list, rows)]
    lows = [one.low for one in ranges]
    if lows[:1] != [0] or any(low >= high for low, high in pairwise(lows)):
        raise TopologyError(f"the ranges begin at {lows}: not at 0 and ascending")
    return tuple(ranges)


def _resizable(pool: Any) -> Pool:
    if pool not in (Pool.MAIN, Pool.BACKUP):
        raise TopologyError(f"{pool!r} has no slot map")
    return Pool(pool)


def _resize(phase: Any, old: Any, new: Any) -> Resize:
    return Resize(Phase(phase), from_text(_text(old)), from_text(_text(new)))


def _require_slots(topology: Topology) -> Topology:
    """Raise TopologyError if a slot map names a slot that its pool does not have."""
    for pool in (Pool.MAIN, Pool.BACKUP):
        resize = topology.resizes.get(pool)
        slots = (resize.old, resize.new) if resize else (topology.slot_map(pool),)
        most = max((one for each in slots for one in each if one != NOWHERE), default=-1)
        if most >= len(topology.group(pool)):
            raise TopologyError(f"{pool} has no slot {most}")
    return topology


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TopologyError(f"{value!r} is not a number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TopologyError(f"{value!r} is not a text")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TopologyError(f"{value!r} is not a list")
    return value
