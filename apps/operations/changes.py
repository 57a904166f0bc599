"""The changes of a topology, as functions from one to its next version.

A node that is placed gets the new version as its generation, a flushed class gets it as its epoch:
no key of an earlier time is ever read again, whether a node comes back or a version is rolled back
(decision 0010).
"""

from collections.abc import Sequence
from dataclasses import replace

from feedcache.topology import CLASSES, Group, Node, Place, State, Topology


class ImpossibleError(ValueError):
    """The place or class does not exist."""


def with_l1_group(
    current: Topology, urls: Sequence[str], megabytes: int, *, version: int
) -> Topology:
    """The group is empty at first and filled from Main on reads."""
    group = tuple(Node(f"l1-v{version}-{slot}", url, megabytes, version) for slot, url in enumerate(urls))  # fmt: skip
    return replace(current, version=version, l1=(*current.l1, group))


def replaced(current: Topology, place: Place, url: str, megabytes: int | None, *, version: int) -> Topology:  # fmt: skip
    """Another node in a slot, or the same node emptied and read again."""
    node = _at(current, place)
    name = node.name if url == node.url else f"{place.pool}-v{version}"
    new = Node(name, url, node.megabytes if megabytes is None else megabytes, version)
    return replace(current.with_node(place, new), version=version)


def drained(current: Topology, place: Place, *, version: int) -> Topology:
    node = _at(current, place)
    return replace(current.with_node(place, replace(node, state=State.DRAINING)), version=version)


def without_l1_group(current: Topology, group: int, *, version: int) -> Topology:
    if not 0 <= group < len(current.l1):
        raise ImpossibleError
    return replace(current, version=version, l1=current.l1[:group] + current.l1[group + 1 :])


def flushed(current: Topology, name: str, *, version: int) -> Topology:
    """What the class held falls out of memory by age."""
    if name not in CLASSES:
        raise ImpossibleError
    return replace(current, version=version, epochs={**current.epochs, name: version})


def rolled_back(current: Topology, earlier: Topology, *, version: int) -> Topology:
    """The nodes of an earlier topology. Only those that
    serve the same slot now keep their contents.
    """
    return Topology(
        version=version,
        main=_as_of(earlier.main, current.main, version),
        backup=_as_of(earlier.backup, current.backup, version),
        l1=tuple(
            _as_of(group, current.l1[number] if number < len(current.l1) else (), version)
            for number, group in enumerate(earlier.l1)
        ),
        epochs=current.epochs,
    )


def _as_of(earlier: Group, current: Group, version: int) -> Group:
    serving = {(slot, node) for slot, node in enumerate(current) if node.is_read}
    return tuple(
        node if (slot, node) in serving else replace(node, generation=version)
        for slot, node in enumerate(earlier)
    )


def _at(topology: Topology, place: Place) -> Node:
    node = topology.node_at(place)
    if node is None:
        raise ImpossibleError
    return node
