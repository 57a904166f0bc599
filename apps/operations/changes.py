"""The changes of a topology: each makes the next version of it, and stores nothing.

Whatever is placed anew gets the new version as its generation, and whatever is flushed as its epoch, so that no key of an
earlier time is ever asked for again: not after a node comes back, nor after a rollback (decision 0010).
"""

from collections.abc import Sequence
from dataclasses import replace

from feedcache.topology import CLASSES, Group, Node, Place, State, Topology


class ImpossibleError(ValueError):
    """There is no such place or class to change."""


def with_l1_group(now: Topology, urls: Sequence[str], megabytes: int, *, version: int) -> Topology:
    """One more group; empty, and filled from Main by what is asked for."""
    group = tuple(Node(f"l1-v{version}-{slot}", url, megabytes, version) for slot, url in enumerate(urls))  # fmt: skip
    return replace(now, version=version, l1=(*now.l1, group))


def replaced(now: Topology, place: Place, url: str, megabytes: int | None, *, version: int) -> Topology:  # fmt: skip
    """Another node in a slot, or the same node empty and read again."""
    node = _at(now, place)
    name = node.name if url == node.url else f"{place.pool}-v{version}"
    new = Node(name, url, node.megabytes if megabytes is None else megabytes, version)
    return replace(now.with_node(place, new), version=version)


def drained(now: Topology, place: Place, *, version: int) -> Topology:
    """A slot that is read no more: the next layer answers, until the node is replaced."""
    node = _at(now, place)
    return replace(now.with_node(place, replace(node, state=State.DRAINING)), version=version)


def without_l1_group(now: Topology, group: int, *, version: int) -> Topology:
    """One group of L1 less."""
    if not 0 <= group < len(now.l1):
        raise ImpossibleError
    return replace(now, version=version, l1=now.l1[:group] + now.l1[group + 1 :])


def flushed(now: Topology, name: str, *, version: int) -> Topology:
    """One class of data begins anew; what it held falls out of memory by age."""
    if name not in CLASSES:
        raise ImpossibleError
    return replace(now, version=version, epochs={**now.epochs, name: version})


def rolled_back(now: Topology, earlier: Topology, *, version: int) -> Topology:
    """The nodes of an earlier topology. Only those that serve now as they did then keep what they hold."""
    return Topology(
        version=version,
        main=_as_of(earlier.main, now.main, version),
        backup=_as_of(earlier.backup, now.backup, version),
        l1=tuple(
            _as_of(group, now.l1[number] if number < len(now.l1) else (), version)
            for number, group in enumerate(earlier.l1)
        ),
        epochs=now.epochs,
    )


def _as_of(earlier: Group, now: Group, version: int) -> Group:
    serving = {(slot, node) for slot, node in enumerate(now) if node.is_read}
    return tuple(
        node if (slot, node) in serving else replace(node, generation=version)
        for slot, node in enumerate(earlier)
    )


def _at(topology: Topology, place: Place) -> Node:
    node = topology.node_at(place)
    if node is None:
        raise ImpossibleError
    return node
