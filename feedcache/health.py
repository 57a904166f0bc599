"""How the servers are: a real round trip through a Memcached node, its figures, and those of the Redis servers."""

import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from feedcache.redis_servers.connections import (
    MEMCACHED_ERRORS,
    Redis,
    RedisError,
    counters,
    existence,
    graph,
    limits,
    memcached_at,
    timelines,
)

PROBE_TTL_SECONDS = 10
MAX_PARALLEL = 16  # nodes asked in parallel: a page waits for the slowest, not for the sum

# What is lost when it is evicted, and must be rebuilt at a cost: these servers have to refuse writes instead.
PERSISTENT_CLASSES = ("counters", "existence")


@dataclass(frozen=True, slots=True)
class NodeHealth:
    """One Memcached: whether set, get and delete worked, and what it says of itself. `error` is "" when all is well."""

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
        """Whether the probe worked."""
        return not self.error

    @property
    def hit_rate(self) -> float | None:
        """Hits of all gets since the node started; None when there were none."""
        return share(self.hits, self.misses)


@dataclass(frozen=True, slots=True)
class RedisHealth:
    """One Redis server, as the one that holds a class of data."""

    name: str
    address: str
    error: str = ""
    bytes_used: int = 0
    max_bytes: int = 0
    evictions: int = 0
    policy: str = ""

    @property
    def may_lose(self) -> bool:
        """Whether it may evict data that has to be kept."""
        return (
            self.name in PERSISTENT_CLASSES and self.max_bytes > 0 and self.policy != "noeviction"
        )


def share(hits: int, misses: int) -> float | None:
    """Hits of all; None of none."""
    return hits / (hits + misses) if hits + misses else None


def probe(url: str) -> str:
    """What went wrong when a value was set, read and deleted at a node; "" when nothing did."""
    key, value = f"probe:{secrets.token_hex(8)}", secrets.token_bytes(16)
    try:
        with memcached_at(url) as node:
            if not node.set(key, value, expire=PROBE_TTL_SECONDS):
                return "set was refused"
            if node.get(key) != value:
                return "get did not return what was set"
            if not node.delete(key):  # a get that finds nothing would count as a miss of the site's
                return "delete had no effect"
    except MEMCACHED_ERRORS as error:
        return _words(error)
    return ""


def node_health(url: str) -> NodeHealth:
    """Probe a node and read its figures."""
    began = time.perf_counter()
    if error := probe(url):
        return NodeHealth(error)
    milliseconds = (time.perf_counter() - began) * 1000
    try:
        with memcached_at(url) as node:
            figures: Mapping[bytes, Any] = node.stats()
    except MEMCACHED_ERRORS as error_of_stats:
        return NodeHealth(_words(error_of_stats))
    return NodeHealth(
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


def health_of(urls: Iterable[str]) -> dict[str, NodeHealth]:
    """Many nodes at once."""
    wanted = list(dict.fromkeys(urls))
    if not wanted:
        return {}
    with ThreadPoolExecutor(min(MAX_PARALLEL, len(wanted))) as pool:
        return dict(zip(wanted, pool.map(node_health, wanted), strict=True))


SERVERS: dict[str, Callable[[], Redis]] = {
    "timelines": timelines,
    "graph": graph,
    "counters": counters,
    "existence": existence,
    "limits": limits,
}


def redis_health() -> list[RedisHealth]:
    """The servers of all classes of data; several classes may share one."""
    return [_redis_health(name, client()) for name, client in SERVERS.items()]


def _redis_health(name: str, client: Redis) -> RedisHealth:
    settings = client.connection_pool.connection_kwargs
    address = _address_of(settings)
    try:
        answer: Any = client.info("everything")
    except RedisError as error:
        return RedisHealth(name, address, error=_words(error))
    return RedisHealth(
        name,
        address,
        bytes_used=int(answer.get("used_memory", 0)),
        max_bytes=int(answer.get("maxmemory", 0)),
        evictions=int(answer.get("evicted_keys", 0)),
        policy=str(answer.get("maxmemory_policy", "")),
    )


def _address_of(settings: Mapping[str, Any]) -> str:
    """Where a server is, without the password."""
    place = settings.get("path") or f"{settings.get('host')}:{settings.get('port', 6379)}"
    return f"{place} db {settings.get('db') or 0}"


def _figure(figures: Mapping[bytes, Any], name: bytes) -> int:
    value = figures.get(name, 0)
    return int(value) if isinstance(value, int | bytes | str) else 0


def _words(error: BaseException) -> str:
    return (str(error) or type(error).__name__)[:200]
