"""Moves slots in a Redis Cluster one at a time, without downtime (source 000: clusterManager).

`redis-cli --cluster reshard` is given only the number of slots, and chooses the slots itself. This module moves a given
slot, can continue after an interruption, and needs no redis-cli. At every moment, each key is on one of the two
nodes or on both, with its time to live. Clients that ask the old node for a key that has moved are redirected.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from feedcache.redis_clients import Cluster, RedisError

SLOTS = 16_384
KEYS_PER_MOVE = 50  # few, because a MIGRATE blocks both nodes for some milliseconds
MOVE_TIMEOUT_MS = 5_000


class SlotError(Exception):
    """The slot cannot be moved."""


@dataclass(frozen=True, slots=True)
class Master:
    """A node that may own slots. Its slots and moves are those that it reports itself."""

    id: str
    host: str
    port: int
    slots: frozenset[int]
    # slot that is being moved -> id of its new owner
    leaving: Mapping[int, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def ranges(self) -> str:
        """The slots in a string like "0-5460 6000"."""
        numbers = sorted(self.slots)
        if not numbers:
            return ""
        ends = [(a, b) for a, b in pairwise(numbers) if b != a + 1]
        firsts, lasts = [numbers[0], *(b for _, b in ends)], [*(a for a, _ in ends), numbers[-1]]
        return " ".join(
            f"{a}-{b}" if a != b else str(a) for a, b in zip(firsts, lasts, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Move:
    """A slot that is being moved, and the number of its keys that the old owner still has."""

    slot: int
    source: str
    target: str
    keys_left: int


def masters(cluster: Cluster) -> list[Master]:
    """All masters, sorted by address, with the slots that each reports. Raises SlotError if one does not answer."""
    try:
        return [_master(cluster, *address) for address in cluster.masters()]
    except RedisError as error:
        raise SlotError(str(error)) from error


def moves(cluster: Cluster, nodes: Sequence[Master]) -> list[Move]:
    """The slots that are being moved, or whose move was interrupted. Raises RedisError."""
    addresses = {node.id: node.address for node in nodes}
    return [
        Move(
            slot,
            node.address,
            addresses.get(target, ""),
            int(_cluster_command(cluster, node, "COUNTKEYSINSLOT", slot)),
        )
        for node in nodes
        for slot, target in sorted(node.leaving.items())
    ]


def migrate(cluster: Cluster, slot: int, address: str, *, seconds: float | None = None) -> int:
    """Move a slot to a master; returns the number of moved keys. Raises SlotError or RedisError.

    It stops after `seconds`, but moves at least one batch of keys. `moves` then shows how many are left. Another call
    continues, also after a failure.
    """
    until = None if seconds is None else time.monotonic() + seconds
    if not 0 <= slot < SLOTS:
        raise SlotError(f"slots are 0 to {SLOTS - 1}")
    nodes = masters(cluster)
    target = next((node for node in nodes if node.address == address), None)
    source = next((node for node in nodes if slot in node.slots), None)
    if target is None or source is None:
        raise SlotError(f"no master at {address}" if target is None else f"nobody owns slot {slot}")
    moved = 0
    if slot not in target.slots:  # otherwise an earlier attempt has done this
        _cluster_command(cluster, target, "SETSLOT", slot, "IMPORTING", source.id)
        _cluster_command(cluster, source, "SETSLOT", slot, "MIGRATING", target.id)
        moved, is_empty = _move_keys(cluster, slot, source, target, until=until)
        if not is_empty:
            return moved
    # the target first: otherwise the slot would have no owner for a moment
    for node in sorted(nodes, key=lambda node: (node != target, node != source)):
        _cluster_command(cluster, node, "SETSLOT", slot, "NODE", target.id)
    return moved


def _move_keys(
    cluster: Cluster, slot: int, source: Master, target: Master, *, until: float | None
) -> tuple[int, bool]:
    """Move keys until a monotonic time; returns their number, and whether the old owner has none left."""
    login: list[Any] = []
    if cluster.address.password:
        login = ["AUTH2", cluster.address.username or "default", cluster.address.password]
    moved = 0
    # REPLACE, because an interrupted move may have left a copy, and the source is right while it has the key
    options = ["", 0, MOVE_TIMEOUT_MS, "REPLACE", *login]
    while keys := _cluster_command(cluster, source, "GETKEYSINSLOT", slot, KEYS_PER_MOVE):
        if moved and until is not None and time.monotonic() > until:
            return moved, False
        with closing(cluster.node(source.host, source.port)) as node:
            node.execute_command("MIGRATE", target.host, target.port, *options, "KEYS", *keys)
        moved += len(keys)
    return moved, True


def _cluster_command(cluster: Cluster, node: Master, *args: Any) -> Any:
    with closing(cluster.node(node.host, node.port)) as client:
        return client.execute_command("CLUSTER", *args)


def _master(cluster: Cluster, host: str, port: int) -> Master:
    try:
        (row,) = [row for row in cluster.rows(host, port) if "myself" in row[2].split(",")]
    except RedisError as error:
        raise SlotError(f"{host}:{port} does not answer: {error}") from error
    slots: set[int] = set()
    leaving: dict[int, str] = {}
    for word in row[8:]:
        if word.startswith("["):  # [slot->-to] at the old owner, [slot-<-from] at the new one
            slot, arrow, target = word.strip("[]").partition("->-")
            leaving.update({int(slot): target} if arrow else {})
        else:
            first, _, last = word.partition("-")
            slots.update(range(int(first), int(last or first) + 1))
    return Master(row[0], host, port, frozenset(slots), leaving)
