"""Clients of Redis and Memcached from the settings: one pool of connections for each server and process.

Time-outs are short: a cache that does not answer in time is a miss. Only this module, `clients` and `pool` import the
client libraries.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple, cast

import redis
import redis.asyncio
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from pymemcache.client.base import Client
from pymemcache.exceptions import MemcacheError
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.retry import Retry

from feedcache.redis_servers.breaker import Breaker
from feedcache.redis_servers.clients import SCHEME, Cluster, evalsha, execute
from feedcache.redis_servers.pool import RedisConnections
from feedcache.topology import Sizes, Topology, configured

PROBE_TIMEOUT_SECONDS = 0.3  # a staff page waits for the slowest node

Redis = redis.Redis
RedisError = redis.RedisError
MEMCACHED_ERRORS = (MemcacheError, OSError)
ResponseError = redis.ResponseError  # the server refused the command
Pipeline = redis.client.Pipeline


@cache
def timelines() -> redis.Redis:
    """Home caches; evictable, rebuilt from PostgreSQL."""
    return _redis(settings.REDIS_URL)


def dedicated_timelines() -> redis.Redis:
    """A client of the same server with connections of its own.

    For a thread that may be running while the process forks: a lock of the shared pool would stay locked in the child. No
    breaker, since the thread holds a subscription open.
    """
    return _redis(settings.REDIS_URL, pool=redis.BlockingConnectionPool)


@cache
def graph() -> redis.Redis:
    """Relations; evictable, rebuilt from PostgreSQL."""
    return _redis(settings.REDIS_GRAPH_URL)


@cache
def graph_replicas() -> list[redis.Redis]:
    return [_redis(url) for url in settings.REDIS_GRAPH_REPLICA_URLS]


@cache
def counters() -> redis.Redis:
    """Must not evict; rebuilt from PostgreSQL after a loss. One server, never a cluster."""
    if settings.REDIS_COUNTERS_URL.startswith(SCHEME):
        raise ImproperlyConfigured(
            "REDIS_COUNTERS_URL: the counters need one server, not a cluster"
        )
    return _redis(settings.REDIS_COUNTERS_URL)


@cache
def existence() -> redis.Redis:
    """Bloom filters; must not evict, rebuilt from PostgreSQL after a loss."""
    return _redis(settings.REDIS_EXISTENCE_URL)


@cache
def limits() -> redis.Redis:
    return _redis(settings.REDIS_LIMITS_URL)


@cache
def sessions() -> redis.Redis:
    """The Redis of Django's cache, for health checks; Django has its own connections."""
    return _redis(settings.REDIS_CACHE_URL)


@cache
def broadcasts() -> redis.Redis:
    """One server, never a cluster."""
    return _redis(settings.REDIS_BROADCAST_URL)


def async_broadcasts() -> Any:
    """A client of the same server for an event loop; the caller closes it."""
    if settings.REDIS_BROADCAST_URL.startswith(SCHEME):
        raise ImproperlyConfigured(
            "REDIS_BROADCAST_URL: the broadcasts need one server, not a cluster"
        )
    return redis.asyncio.Redis.from_url(
        settings.REDIS_BROADCAST_URL,
        socket_timeout=settings.REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=settings.REDIS_TIMEOUT_SECONDS,
        retry=None,
        protocol=2,
    )


def _redis(url: str, *, pool: type[redis.BlockingConnectionPool] | None = None) -> redis.Redis:
    if url.startswith(SCHEME):
        return cast("redis.Redis", Cluster(url, timeout_seconds=settings.REDIS_TIMEOUT_SECONDS))
    # Built from a pool: the plain constructor would retry ten times and hold a request for seconds.
    connections = (pool or RedisConnections).from_url(
        url,
        max_connections=64,
        timeout=settings.REDIS_TIMEOUT_SECONDS,
        socket_timeout=settings.REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=0.2,
        # one retry, of broken connections only: a pooled one may be stale after a restart
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
        retry_on_error=[redis.ConnectionError],
        protocol=2,
    )
    return redis.Redis(connection_pool=connections)


def reset_breakers() -> None:
    """Close all breakers, after the servers were brought back."""
    for breaker in _breakers(
        [*_needed_by_pages(), existence(), limits(), sessions(), broadcasts()]
    ):
        breaker.succeed()


def has_open_breaker() -> bool:
    """Whether this process skips a Redis that pages need. Asks no server."""
    return not all(breaker.is_closed for breaker in _breakers(_needed_by_pages()))


def _needed_by_pages() -> list[redis.Redis]:
    return [timelines(), graph(), counters(), *graph_replicas()]


def _breakers(servers: Iterable[redis.Redis]) -> Iterator[Breaker]:
    for server in servers:
        pool = getattr(server, "connection_pool", None)
        if isinstance(pool, RedisConnections):
            yield pool.breaker


@cache
def script(client: redis.Redis, source: str) -> Script:
    """A Lua script bound to a client; sent by digest, loaded again when Redis has lost it."""
    return client.register_script(source)


class ScriptCall(NamedTuple):
    """A call of a Lua script."""

    source: str
    keys: Sequence[str]
    args: Sequence[Any]


def run_script(client: redis.Redis, call: ScriptCall) -> Any:
    return script(client, call.source)(keys=call.keys, args=call.args)


def run_scripts(client: redis.Redis, calls: Sequence[ScriptCall]) -> list[Any]:
    """The results of several scripts, in one round trip."""
    return execute(client, [evalsha(*call) for call in calls])


def configured_topology() -> Topology:
    """The topology of the settings, in force until staff change it."""
    sizes = Sizes(
        main=settings.MEMCACHED_MAIN_MEGABYTES,
        backup=settings.MEMCACHED_BACKUP_MEGABYTES,
        l1=settings.MEMCACHED_L1_MEGABYTES,
    )
    return configured(
        settings.MEMCACHED_URLS,
        settings.MEMCACHED_BACKUP_URLS,
        settings.MEMCACHED_L1_URLS,
        sizes=sizes,
    )


def listens() -> bool:
    """Whether this process follows changes of the topology; tests switch it off."""
    return bool(settings.CACHE_TOPOLOGY_LISTENS)


@contextmanager
def memcached_at(url: str) -> Iterator[Any]:
    """A connection of its own to any Memcached, for administration; every command waits for its reply.

    Raises one of MEMCACHED_ERRORS when used, not when opened.
    """
    client = Client(
        url,
        connect_timeout=PROBE_TIMEOUT_SECONDS,
        timeout=PROBE_TIMEOUT_SECONDS,
        default_noreply=False,
        no_delay=True,
    )
    try:
        yield client
    finally:
        client.close()


def memcached_timeout() -> float:
    """How long a node may take to answer, in seconds."""
    return float(settings.MEMCACHED_TIMEOUT_SECONDS)


def key_prefix() -> bytes:
    return bytes(settings.CACHE_KEY_PREFIX.encode())


def refills_all_l1() -> bool:
    """Whether loaded values go to every L1 group, not only to the one that was read."""
    return bool(settings.CACHE_REFILL_ALL_L1)
