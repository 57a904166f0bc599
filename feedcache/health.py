"""Health of the cache servers: a real round trip through a Memcached node, its figures, and those of the Redis servers."""

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
MAX_PARALLEL = 16  # nodes: a page waits for the slowest instead of for their sum

# Expensive to rebuild: their servers must refuse writes instead of evicting keys.
PERSISTENT_CLASSES = ("counters", "existence")


@dataclass(frozen=True, slots=True)
class MemcachedStatus:
    """Whether set, get and delete worked, and the node's own figures. `error` is "" when they did."""

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
        """Since the node started; None without reads."""
        return share(self.hits, self.misses)


@dataclass(frozen=True, slots=True)
class RedisStatus:
    """The Redis server of one class of data."""

    name: str
    address: str
    error: str = ""
    bytes_used: int = 0
    max_bytes: int = 0
    evictions: int = 0
    policy: str = ""

    @property
    def may_lose(self) -> bool:
        """Whether it may evict data that must not be evicted."""
        return (
            self.name in PERSISTENT_CLASSES and self.max_bytes > 0 and self.policy != "noeviction"
        )


def share(hits: int, misses: int) -> float | None:
    """Hits of all reads; None without reads."""
    return hits / (hits + misses) if hits + misses else None


def probe(url: str) -> str:
    """Set, read and delete a value on a node; the error, or ""."""
    key, value = f"probe:{secrets.token_hex(8)}", secrets.token_bytes(16)
    try:
        with memcached_at(url) as node:
            if not node.set(key, value, expire=PROBE_TTL_SECONDS):
                return "set was refused"
            if node.get(key) != value:
                return "get did not return what was set"
            if not node.delete(key):  # a get instead would count as a miss of the site
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
    """Of many nodes at once, by address."""
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
}


def redis_statuses() -> list[RedisStatus]:
    """The servers of all classes of data; several classes may share one."""
    return [_redis_health(name, client()) for name, client in SERVERS.items()]


def _redis_health(name: str, client: Redis) -> RedisStatus:
    settings = client.connection_pool.connection_kwargs
    address = _address_of(settings)
    try:
        answer: Any = client.info("everything")
    except RedisError as error:
        return RedisStatus(name, address, error=_message(error))
    return RedisStatus(
        name,
        address,
        bytes_used=int(answer.get("used_memory", 0)),
        max_bytes=int(answer.get("maxmemory", 0)),
        evictions=int(answer.get("evicted_keys", 0)),
        policy=str(answer.get("maxmemory_policy", "")),
    )


def _address_of(settings: Mapping[str, Any]) -> str:
    """Without the password."""
    server = settings.get("path") or f"{settings.get('host')}:{settings.get('port', 6379)}"
    return f"{server} db {settings.get('db') or 0}"


def _figure(figures: Mapping[bytes, Any], name: bytes) -> int:
    value = figures.get(name, 0)
    return int(value) if isinstance(value, int | bytes | str) else 0


def _message(error: BaseException) -> str:
    return (str(error) or type(error).__name__)[:200]
