"""The cache topology as a value: which Memcached nodes are L1, Main and Backup, and in which epoch each class of data is.

Pure: no clients, no settings. A value never changes; a change is a new value with a higher version, and every process
swaps the whole value at once. Slots are fixed: a key belongs to a slot of a pool, and no failure moves it to another.

`generation` (of a node) and `epoch` (of a class) belong into every key. Both are versions of the topology, the one in
which the node was placed or the class flushed, so that they only ever grow: memory of an earlier time is unreachable,
even that of a node which comes back.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

MAX_NODES = 64  # of all pools together: every write goes to all L1 groups
MAX_MEGABYTES = 1024 * 1024
MAX_URL_CHARACTERS = 200
MAX_NAME_CHARACTERS = 60
L1_GROUPS = (4, 8)  # sources 000, 002: groups by volume of requests; 0 means two layers
L1_SHARES = (6, 10)  # sources 000, 002: a group has 1/6 to 1/10 of Main
BACKUP_SHARE = 2  # source 000: Backup has at most half of Main

CLASSES = ("content", "outbox", "inbox", "graph", "existence", "counters")

_ADDRESS = re.compile(
    r"unix:/[\x21-\x7e]+|(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})"
)


class TopologyError(ValueError):
    """Text that is no topology."""


class Pool(StrEnum):
    """The three layers."""

    L1 = "l1"
    MAIN = "main"
    BACKUP = "backup"


class State(StrEnum):
    """What may be done with a node."""

    ACTIVE = "active"
    JOINING = "joining"  # written by everybody, read by nobody
    DRAINING = "draining"  # the same, on the way out


@dataclass(frozen=True, slots=True)
class Node:
    """One Memcached. `name` is what staff call it, wherever it stands."""

    name: str
    url: str
    megabytes: int
    generation: int = 0
    state: State = State.ACTIVE

    @property
    def is_read(self) -> bool:
        """Whether reads may go here; else its slot is a miss, and the next layer answers."""
        return self.state is State.ACTIVE


Group = tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands; `group` is 0 but in L1."""

    pool: Pool
    slot: int
    group: int = 0

    def __str__(self) -> str:
        """As in "main 1" or "l1 2/0"."""
        return f"{self.pool} {self.group}/{self.slot}" if self.pool is Pool.L1 else f"{self.pool} {self.slot}"  # fmt: skip


@dataclass(frozen=True, slots=True)
class Topology:
    """All nodes by pool and slot, and the epochs of the classes. Version 0 is what the settings say."""

    version: int = 0
    main: Group = ()
    backup: Group = ()
    l1: tuple[Group, ...] = ()
    epochs: Mapping[str, int] = field(default_factory=dict)

    def epoch_of(self, name: str) -> int:
        """The epoch of a class of data."""
        return self.epochs.get(name, 0)

    def places(self) -> Iterator[tuple[Place, Node]]:
        """Every node and where it stands: Main, Backup, then L1 by group."""
        yield from ((Place(Pool.MAIN, slot), node) for slot, node in enumerate(self.main))
        yield from ((Place(Pool.BACKUP, slot), node) for slot, node in enumerate(self.backup))
        for number, group in enumerate(self.l1):
            yield from ((Place(Pool.L1, slot, number), node) for slot, node in enumerate(group))

    def node_at(self, place: Place) -> Node | None:
        """The node of a place, None where there is none."""
        return dict(self.places()).get(place)

    def with_node(self, place: Place, node: Node) -> "Topology":
        """The same with another node at a place that exists."""
        if place.pool is Pool.MAIN:
            return replace(self, main=_put(self.main, place.slot, node))
        if place.pool is Pool.BACKUP:
            return replace(self, backup=_put(self.backup, place.slot, node))
        group = _put(self.l1[place.group], place.slot, node)
        groups = [*self.l1[: place.group], group, *self.l1[place.group + 1 :]]
        return replace(self, l1=tuple(groups))

    def to_json(self) -> str:
        """As text: the same value is the same text."""
        document = {
            "version": self.version,
            "main": _plain(self.main),
            "backup": _plain(self.backup),
            "l1": [_plain(group) for group in self.l1],
            "epochs": dict(self.epochs),
        }
        return json.dumps(document, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> "Topology":
        """From text. Raises TopologyError for anything that `to_json` cannot have written."""
        try:
            document = json.loads(text)
            return cls(
                version=_number(document["version"]),
                main=_group(document["main"]),
                backup=_group(document["backup"]),
                l1=tuple(_group(group) for group in _list(document["l1"])),
                epochs={
                    _text(name): _number(epoch) for name, epoch in dict(document["epochs"]).items()
                },
            )
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise TopologyError(f"not a topology: {error!r}"[:200]) from None


@dataclass(frozen=True, slots=True)
class Sizes:
    """Megabytes of one node per pool."""

    main: int
    backup: int
    l1: int


def configured(
    main: Sequence[str], backup: Sequence[str], l1: Sequence[Sequence[str]], *, sizes: Sizes
) -> Topology:
    """What the settings say, as version 0. No node of Main means no tiers at all."""
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
    """Something wrong (then the topology is refused) or unusual (then staff are told). `code` names it for translation."""

    code: str
    values: Mapping[str, object] = field(default_factory=dict)


def problems(topology: Topology) -> list[Finding]:
    """Why a topology cannot be used; [] when it can."""
    found = []
    if not topology.main:
        found.append(Finding("no_main"))
    found += [Finding("empty_group", {"group": n}) for n, group in enumerate(topology.l1) if not group]  # fmt: skip
    places = list(topology.places())
    if len(places) > MAX_NODES:
        found.append(Finding("too_many", {"count": len(places), "most": MAX_NODES}))
    for place, node in places:
        found += _problems_of(place, node)
    found += _twice(places)
    if topology.main and not any(node.is_read for node in topology.main):
        found.append(Finding("main_unread"))
    return found


def _problems_of(place: Place, node: Node) -> Iterator[Finding]:
    if not is_address(node.url):
        yield Finding("bad_address", {"place": place, "url": node.url})
    if not 1 <= node.megabytes <= MAX_MEGABYTES:
        yield Finding("bad_size", {"place": place, "megabytes": node.megabytes})
    if not (0 < len(node.name) <= MAX_NAME_CHARACTERS and node.name.isprintable()):
        yield Finding("bad_name", {"place": place})


def _twice(places: Sequence[tuple[Place, Node]]) -> Iterator[Finding]:
    seen: dict[str, Place] = {}
    for place, node in places:
        # an address and a name may be the same text, and then mean the same node
        for text in {node.url, node.name}:
            if text in seen:
                yield Finding("twice", {"url": text, "place": place, "other": seen[text]})
            seen[text] = place


def warnings(topology: Topology) -> list[Finding]:
    """What departs from the sizes the sources found good; a burst may be a reason to."""
    main = megabytes(topology.main)
    backup = megabytes(topology.backup)
    groups = len(topology.l1)
    found = []
    if groups and not L1_GROUPS[0] <= groups <= L1_GROUPS[1]:
        found.append(Finding("l1_groups", {"count": groups, "least": L1_GROUPS[0], "most": L1_GROUPS[1]}))  # fmt: skip
    for number, group in enumerate(topology.l1):
        size = megabytes(group)
        if not main <= size * L1_SHARES[1] <= main * L1_SHARES[1] / L1_SHARES[0]:
            minimum, maximum = -(-main // L1_SHARES[1]), main // L1_SHARES[0]
            found.append(Finding("l1_size", {"group": number, "megabytes": size, "least": minimum, "most": maximum}))  # fmt: skip
    if backup * BACKUP_SHARE > main:
        found.append(Finding("backup_size", {"megabytes": backup, "most": main // BACKUP_SHARE}))
    return found


def is_address(url: str) -> bool:
    """Whether a text is unix:/path or host:port."""
    match = _ADDRESS.fullmatch(url) if len(url) <= MAX_URL_CHARACTERS else None
    return match is not None and (match["port"] is None or 0 < int(match["port"]) < 65536)


def megabytes(group: Group) -> int:
    """The memory of a group."""
    return sum(node.megabytes for node in group)


def _put(group: Group, slot: int, node: Node) -> Group:
    return (*group[:slot], node, *group[slot + 1 :])


def _plain(group: Group) -> list[list[object]]:
    return [
        [node.name, node.url, node.megabytes, node.generation, node.state.value] for node in group
    ]


def _group(nodes: object) -> Group:
    return tuple(_node(*_list(node)) for node in _list(nodes))


def _node(name: Any, url: Any, megabytes: Any, generation: Any, state: Any) -> Node:
    return Node(_text(name), _text(url), _number(megabytes), _number(generation), State(state))


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TopologyError(f"{value!r} is no number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TopologyError(f"{value!r} is no text")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TopologyError(f"{value!r} is no list")
    return value
