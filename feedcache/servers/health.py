"""Health of the cache servers: probes Memcached nodes and Redis servers, and reads their statistics."""

import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from feedcache.connections import (
    MEMCACHED_ERRORS,
    PROBE_TIMEOUT_SECONDS,
    REPLICATED,
    Redis,
    RedisError,
    broadcasts,
    counter_servers,
    counters,
    existence,
    graph,
    limits,
    memcached_at,
    replicas,
    sessions,
    timelines,
)
from feedcache.redis_clients import cluster_of, execute, is_cluster

PROBE_TTL_SECONDS = 10
MAX_PARALLEL = 16  # servers probed at once, so that a page waits only for the slowest

# Data of these classes is expensive or impossible to rebuild, so their servers must refuse writes, not evict keys.
PERSISTENT_CLASSES = ("counters", "existence")
REPLICA = " replica"  # appended to the name of a class of data
# In these classes, a missing key costs a query. In the timelines, most misses only show that a post has no tombstone.
READ_THROUGH_CLASSES = ("graph", "graph" + REPLICA, "cache")


@dataclass(frozen=True, slots=True)
class MemcachedStatus:
    """The result of a test with set, get and delete, and the node's statistics; `error` is "" if all of them worked."""

    error: str
    milliseconds: float = 0.0
    hits: int = 0
    misses: int = 0
    bytes_used: int = 0
    max_bytes: int = 0
    evictions: int = 0
    items: int = 0
    uptime_seconds: int = 0

    @property
    def is_well(self) -> bool:
        return not self.error

    @property
    def hit_rate(self) -> float | None:
        """The hit rate since the node started; None if there were no reads."""
        return share(self.hits, self.misses)


@dataclass(frozen=True, slots=True)
class RedisStatus:
    """A Redis server or a node of a cluster: the classes of data on it, and its statistics.

    `error` is "" if it answered and, unless it is a replica or a node of a cluster, set, get and delete worked.
    """

    address: str
    classes: tuple[str, ...]
    error: str = ""
    milliseconds: float = 0.0
    hits: int = 0
    misses: int = 0
    bytes_used: int = 0
    max_bytes: int = 0
    evictions: int = 0
    policy: str = ""
    version: str = ""
    uptime_seconds: int = 0

    @property
    def is_well(self) -> bool:
        return not self.error

    @property
    def hit_rate(self) -> float | None:
        """The hit rate since the server started; None if there were no reads, or misses are normal for one of its
        classes of data.
        """
        if set(self.classes) <= set(READ_THROUGH_CLASSES):
            return share(self.hits, self.misses)
        return None

    @property
    def memory_share(self) -> float | None:
        """The share of the server's memory limit that is used; None if it has no limit."""
        return self.bytes_used / self.max_bytes if self.max_bytes else None

    @property
    def may_lose(self) -> bool:
        """Whether the server may evict data of `PERSISTENT_CLASSES`."""
        must_keep = not set(self.classes).isdisjoint(PERSISTENT_CLASSES)
        return must_keep and self.max_bytes > 0 and self.policy != "noeviction"


def share(hits: int, misses: int) -> float | None:
    """Hits as a share of all reads; None if there were no reads."""
    return hits / (hits + misses) if hits + misses else None


def probe(url: str) -> str:
    """Set, read and delete a value on a node; returns the error, or "" if there was none."""
    key, value = f"probe:{secrets.token_hex(8)}", secrets.token_bytes(16)
    try:
        with memcached_at(url) as node:
            if not node.set(key, value, expire=PROBE_TTL_SECONDS):
                return "set was refused"
            if node.get(key) != value:
                return "get did not return what was set"
            if not node.delete(key):  # a get to verify this would count as a miss
                return "delete had no effect"
    except MEMCACHED_ERRORS as error:
        return _message(error)
    return ""


def memcached_status(url: str) -> MemcachedStatus:
    began = time.perf_counter()
    if error := probe(url):
        return MemcachedStatus(error)
    milliseconds = (time.perf_counter() - began) * 1000
    try:
        with memcached_at(url) as node:
            figures: Mapping[bytes, Any] = node.stats()
    except MEMCACHED_ERRORS as stats_error:
        return MemcachedStatus(_message(stats_error))
    return MemcachedStatus(
        error="",
        milliseconds=milliseconds,
        hits=_figure(figures, b"get_hits"),
        misses=_figure(figures, b"get_misses"),
        bytes_used=_figure(figures, b"bytes"),
        max_bytes=_figure(figures, b"limit_maxbytes"),
        evictions=_figure(figures, b"evictions"),
        items=_figure(figures, b"curr_items"),
        uptime_seconds=_figure(figures, b"uptime"),
    )


def memcached_statuses(urls: Iterable[str]) -> dict[str, MemcachedStatus]:
    """The statuses of many nodes, by address; they are probed in parallel."""
    addresses = list(dict.fromkeys(urls))
    if not addresses:
        return {}
    with ThreadPoolExecutor(min(MAX_PARALLEL, len(addresses))) as pool:
        return dict(zip(addresses, pool.map(memcached_status, addresses), strict=True))


SERVERS: dict[str, Callable[[], Redis]] = {
    "timelines": timelines,
    "graph": graph,
    "counters": counters,
    "existence": existence,
    "limits": limits,
    "cache": sessions,
    "broadcasts": broadcasts,
}


def redis_statuses() -> list[RedisStatus]:
    """The statuses of the servers that are read, and of all counter servers. Classes of data may share a server."""
    clients: dict[str, tuple[Redis, list[str]]] = {}
    for name, client_of in SERVERS.items():
        client = client_of()
        clients.setdefault(address_of(client), (client, []))[1].append(name)
    for client in counter_servers()[1:]:
        clients.setdefault(address_of(client), (client, []))[1].append("counters")
    for name in REPLICATED:
        for replica in replicas(name):
            clients.setdefault(address_of(replica), (replica, []))[1].append(name + REPLICA)
    with ThreadPoolExecutor(min(MAX_PARALLEL, len(clients))) as pool:
        found = list(pool.map(_redis_statuses, clients.values()))
    return [status for statuses in found for status in statuses]


def _redis_statuses(server: tuple[Redis, list[str]]) -> list[RedisStatus]:
    client, names = server
    cluster = cluster_of(client)
    if cluster is None:
        accepts_writes = not all(name.endswith(REPLICA) for name in names)
        return [_redis_status(address_of(client), tuple(names), client, probes=accepts_writes)]
    try:
        nodes = cluster.masters()
    except RedisError as error:
        return [RedisStatus(cluster.address.name, tuple(names), error=_message(error))]
    statuses = []
    for host, port in nodes:
        with closing(cluster.node(host, port, timeout_seconds=PROBE_TIMEOUT_SECONDS)) as node:
            statuses.append(_redis_status(f"{host}:{port}", tuple(names), node, probes=False))
    return statuses


def _redis_status(
    address: str, classes: tuple[str, ...], client: Redis, *, probes: bool = True
) -> RedisStatus:
    began = time.perf_counter()
    try:
        error = _probe_redis(client) if probes else ""
        milliseconds = (time.perf_counter() - began) * 1000
        answer: Any = client.info("everything")
    except RedisError as failure:
        return RedisStatus(address, classes, error=_message(failure))
    return RedisStatus(
        address,
        classes,
        error=error,
        milliseconds=milliseconds,
        hits=int(answer.get("keyspace_hits", 0)),
        misses=int(answer.get("keyspace_misses", 0)),
        bytes_used=int(answer.get("used_memory", 0)),
        max_bytes=int(answer.get("maxmemory", 0)),
        evictions=int(answer.get("evicted_keys", 0)),
        policy=str(answer.get("maxmemory_policy", "")),
        version=str(answer.get("redis_version", "")),
        uptime_seconds=int(answer.get("uptime_in_seconds", 0)),
    )


def _probe_redis(client: Redis) -> str:
    """Set, read and delete a value; returns the error, or "". Raises RedisError."""
    key, value = f"probe:{secrets.token_hex(8)}", secrets.token_bytes(16)
    commands = [("SET", key, value, "EX", PROBE_TTL_SECONDS), ("GET", key), ("DEL", key)]
    _ok, read, deleted = execute(client, commands)
    if read != value:
        return "get did not return what was set"
    return "" if deleted else "delete had no effect"


def address_of(client: Redis) -> str:
    """The address of a client's server without password and database, as shown to staff."""
    if cluster := cluster_of(client):
        return cluster.address.name
    settings = client.connection_pool.connection_kwargs
    if sentinels := settings.get("connection_pool"):  # the primary may change
        return f"{sentinels.service_name} of Sentinel"
    return str(settings.get("path") or f"{settings.get('host')}:{settings.get('port', 6379)}")


def database_of(client: Redis) -> int:
    """The number of a client's database; a cluster has only one."""
    return 0 if is_cluster(client) else int(client.connection_pool.connection_kwargs.get("db") or 0)


def _figure(figures: Mapping[bytes, Any], name: bytes) -> int:
    value = figures.get(name, 0)
    return int(value) if isinstance(value, int | bytes | str) else 0


def _message(error: BaseException) -> str:
    return (str(error) or type(error).__name__)[:200]
