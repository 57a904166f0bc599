"""Move slots of a Redis Cluster one at a time, without downtime (source 000: clusterManager).

`redis-cli --cluster reshard` moves a number of slots of its own choice; this moves the given one, can be repeated after
an interruption, and needs no redis-cli. A key is on one of the two nodes at every moment, with its time to live; clients
that ask the old node for a migrated key are redirected.
"""

from contextlib import closing
from dataclasses import dataclass
from typing import Any

from feedcache.redis_servers.clients import Cluster, RedisError

SLOTS = 16_384
KEYS_PER_MOVE = 50  # a MIGRATE blocks both nodes: some milliseconds
MOVE_TIMEOUT_MS = 5_000


class SlotError(Exception):
    """The slot cannot be moved."""


@dataclass(frozen=True, slots=True)
class Master:
    """A node that may own slots, as it reports itself."""

    id: str
    host: str
    port: int
    slots: frozenset[int]

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


def masters(cluster: Cluster) -> list[Master]:
    """All masters, by address; SlotError when one does not answer, because only it knows its slots."""
    for host, port in cluster.address.nodes:
        try:
            rows = _rows(cluster, host, port)
        except RedisError:
            continue
        addresses = [
            _address_of(row)
            for row in rows
            if "master" in row[2].split(",") and "noaddr" not in row[2]
        ]
        return [_master(cluster, *address) for address in sorted(addresses)]
    raise SlotError("no node of the cluster answers")


def migrate(cluster: Cluster, slot: int, address: str) -> int:
    """Move a slot to a master; how many keys. Can be repeated after any failure. Raises RedisError."""
    if not 0 <= slot < SLOTS:
        raise SlotError(f"slots are 0 to {SLOTS - 1}")
    nodes = masters(cluster)
    target = next((node for node in nodes if node.address == address), None)
    source = next((node for node in nodes if slot in node.slots), None)
    if target is None or source is None:
        raise SlotError(f"no master at {address}" if target is None else f"nobody owns slot {slot}")
    moved = 0
    if slot not in target.slots:  # else an earlier attempt came that far
        _cluster_command(cluster, target, "SETSLOT", slot, "IMPORTING", source.id)
        _cluster_command(cluster, source, "SETSLOT", slot, "MIGRATING", target.id)
        moved = _move_keys(cluster, slot, source, target)
    # the target first: were the source to forget the slot before, nobody would own it
    for node in sorted(nodes, key=lambda node: (node != target, node != source)):
        _cluster_command(cluster, node, "SETSLOT", slot, "NODE", target.id)
    return moved


def _move_keys(cluster: Cluster, slot: int, source: Master, target: Master) -> int:
    login: list[Any] = []
    if cluster.address.password:
        login = ["AUTH2", cluster.address.username or "default", cluster.address.password]
    moved = 0
    # REPLACE: an interrupted move may have left a copy; as long as the source has the key, the source is right
    options = ["", 0, MOVE_TIMEOUT_MS, "REPLACE", *login]
    while keys := _cluster_command(cluster, source, "GETKEYSINSLOT", slot, KEYS_PER_MOVE):
        with closing(cluster.node(source.host, source.port)) as node:
            node.execute_command("MIGRATE", target.host, target.port, *options, "KEYS", *keys)
        moved += len(keys)
    return moved


def _cluster_command(cluster: Cluster, node: Master, *args: Any) -> Any:
    with closing(cluster.node(node.host, node.port)) as client:
        return client.execute_command("CLUSTER", *args)


def _rows(cluster: Cluster, host: str, port: int) -> list[list[str]]:
    with closing(cluster.node(host, port)) as client:
        lines: bytes = client.execute_command("CLUSTER", "NODES")
    return [line.split() for line in lines.decode().splitlines()]


def _address_of(row: list[str]) -> tuple[str, int]:
    host, _, port = row[1].split(",")[0].split("@")[0].rpartition(":")
    return host, int(port)


def _master(cluster: Cluster, host: str, port: int) -> Master:
    try:
        (own,) = [row for row in _rows(cluster, host, port) if "myself" in row[2].split(",")]
    except RedisError as error:
        raise SlotError(f"{host}:{port} does not answer: {error}") from error
    slots: set[int] = set()
    for word in own[8:]:
        if not word.startswith("["):  # slots being moved
            first, _, last = word.partition("-")
            slots.update(range(int(first), int(last or first) + 1))
    return Master(own[0], host, port, frozenset(slots))
