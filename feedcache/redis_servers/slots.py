"""Slots of a Redis Cluster, moved one at a time while everything goes on (source 000: clusterManager).

`redis-cli --cluster reshard` moves a number of slots, whichever they are; this moves the one it is told to, can be run
again after it was interrupted, and needs no redis-cli. A key is on one of the two nodes at every moment, with its time
to live; who asks the old one for a key that has gone is sent on.
"""

from contextlib import closing
from dataclasses import dataclass
from typing import Any

from feedcache.redis_servers.clients import Cluster, RedisError

SLOTS = 16_384
KEYS_PER_MOVE = 50  # a move holds both nodes up: some milliseconds
MOVE_TIMEOUT_MS = 5_000


class SlotError(Exception):
    """A slot cannot be moved as asked."""


@dataclass(frozen=True, slots=True)
class Master:
    """A node that may own slots, as it sees itself."""

    id: str
    host: str
    port: int
    slots: frozenset[int]

    @property
    def address(self) -> str:
        """host:port."""
        return f"{self.host}:{self.port}"


def masters(cluster: Cluster) -> list[Master]:
    """All masters; SlotError when one of them does not answer, because only it knows what it owns."""
    for host, port in cluster.address.nodes:
        try:
            rows = _rows(cluster, host, port)
        except RedisError:
            continue
        places = [
            _place(row) for row in rows if "master" in row[2].split(",") and "noaddr" not in row[2]
        ]
        return [_master(cluster, *place) for place in sorted(places)]
    raise SlotError("no node of the cluster answers")


def migrate(cluster: Cluster, slot: int, address: str) -> int:
    """Move a slot to a master; how many keys. Can be repeated after any failure; RedisError is the caller's."""
    if not 0 <= slot < SLOTS:
        raise SlotError(f"slots are 0 to {SLOTS - 1}")
    nodes = masters(cluster)
    target = next((one for one in nodes if one.address == address), None)
    source = next((one for one in nodes if slot in one.slots), None)
    if target is None or source is None:
        raise SlotError(f"no master at {address}" if target is None else f"nobody owns slot {slot}")
    moved = 0
    if slot not in target.slots:  # else an earlier try came that far
        _ask(cluster, target, "SETSLOT", slot, "IMPORTING", source.id)
        _ask(cluster, source, "SETSLOT", slot, "MIGRATING", target.id)
        moved = _move_keys(cluster, slot, source, target)
    # the target first: were the source to forget the slot before, nobody would own it
    for node in sorted(nodes, key=lambda one: (one != target, one != source)):
        _ask(cluster, node, "SETSLOT", slot, "NODE", target.id)
    return moved


def _move_keys(cluster: Cluster, slot: int, source: Master, target: Master) -> int:
    login: list[Any] = []
    if cluster.address.password:
        login = ["AUTH2", cluster.address.username or "default", cluster.address.password]
    moved = 0
    while keys := _ask(cluster, source, "GETKEYSINSLOT", slot, KEYS_PER_MOVE):
        # REPLACE: a move that was cut short may have left a copy, and as long as the source has the key it is the right one
        with closing(cluster.node(source.host, source.port)) as node:
            node.execute_command(
                "MIGRATE", target.host, target.port, "", 0, MOVE_TIMEOUT_MS, "REPLACE", *login, "KEYS", *keys
            )  # fmt: skip
        moved += len(keys)
    return moved


def _ask(cluster: Cluster, node: Master, *words: Any) -> Any:
    with closing(cluster.node(node.host, node.port)) as client:
        return client.execute_command("CLUSTER", *words)


def _rows(cluster: Cluster, host: str, port: int) -> list[list[str]]:
    with closing(cluster.node(host, port)) as client:
        lines: bytes = client.execute_command("CLUSTER", "NODES")
    return [line.split() for line in lines.decode().splitlines()]


def _place(row: list[str]) -> tuple[str, int]:
    host, _, port = row[1].split(",")[0].split("@")[0].rpartition(":")
    return host, int(port)


def _master(cluster: Cluster, host: str, port: int) -> Master:
    try:
        (mine,) = [row for row in _rows(cluster, host, port) if "myself" in row[2].split(",")]
    except RedisError as error:
        raise SlotError(f"{host}:{port} does not answer: {error}") from error
    slots: set[int] = set()
    for word in mine[8:]:
        if not word.startswith("["):  # those are on the move
            first, _, last = word.partition("-")
            slots.update(range(int(first), int(last or first) + 1))
    return Master(mine[0], host, port, frozenset(slots))
