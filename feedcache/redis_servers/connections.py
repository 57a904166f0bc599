"""The connections to Redis and Memcached, one pool per process, from the settings.

Time-outs are short: a cache that does not answer in time is a miss. With `redisclients` the only
module that imports the client libraries.
"""

import logging
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
from pymemcache.pool import ObjectPool
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.retry import Retry

from feedcache.redis_servers.breaker import Breaker
from feedcache.redis_servers.clients import SCHEME, Cluster, call, trip
from feedcache.redis_servers.pool import RedisConnections
from feedcache.topology import Sizes, Topology, configured

logger = logging.getLogger(__name__)

RECEIVE_BYTES = 256 * 1024
PROBE_TIMEOUT_SECONDS = 0.3  # staff wait for the slowest node

Redis = redis.Redis
RedisError = redis.RedisError
MEMCACHED_ERRORS = (MemcacheError, OSError)
ResponseError = redis.ResponseError  # the server answered, and refused
Pipeline = redis.client.Pipeline


@cache
def timelines() -> redis.Redis:
    """The Redis of the readers' windows; evictable, rebuilt from PostgreSQL."""
    return _redis(settings.REDIS_URL)


def timelines_apart() -> redis.Redis:
    """The same server by connections of the caller's own.

    For a thread that lives beside forks (a pool's lock that it holds at that moment is locked in the child for ever) and
    that keeps a connection to listen: no breaker learns anything from it.
    """
    return _redis(settings.REDIS_URL, pool=redis.BlockingConnectionPool)


@cache
def graph() -> redis.Redis:
    """The Redis of relations; evictable, rebuilt from PostgreSQL."""
    return _redis(settings.REDIS_GRAPH_URL)


@cache
def graph_replicas() -> list[redis.Redis]:
    """Copies of the relations, for reading (`replicas`)."""
    return [_redis(url) for url in settings.REDIS_GRAPH_REPLICA_URLS]


@cache
def counters() -> redis.Redis:
    """The Redis of counters; must not evict, rebuilt from PostgreSQL when it was lost. One server, never a cluster."""
    if settings.REDIS_COUNTERS_URL.startswith(SCHEME):
        raise ImproperlyConfigured(
            "REDIS_COUNTERS_URL: the counters need one server, not a cluster"
        )
    return _redis(settings.REDIS_COUNTERS_URL)


@cache
def existence() -> redis.Redis:
    """The Redis of existence filters; must not evict, rebuilt from PostgreSQL when it was lost."""
    return _redis(settings.REDIS_EXISTENCE_URL)


@cache
def limits() -> redis.Redis:
    """The Redis of rate limits."""
    return _redis(settings.REDIS_LIMITS_URL)


@cache
def sessions() -> redis.Redis:
    """The Redis of Django's cache, for looking after it; the cache itself has its own connections."""
    return _redis(settings.REDIS_CACHE_URL)


@cache
def broadcasts() -> redis.Redis:
    """The Redis of news for those who listen at this moment. One server, never a cluster."""
    return _redis(settings.REDIS_BROADCAST_URL)


def broadcasts_to_hear() -> Any:
    """The same server, for an event loop that listens; the caller closes it."""
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
        # one, of a broken connection: a pooled one may be stale after a restart; a time-out is not waited for twice
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
        retry_on_error=[redis.ConnectionError],
        protocol=2,
    )
    return redis.Redis(connection_pool=connections)


def mark_ready_again() -> None:
    """Forget that servers did not answer; for who has just brought them back."""
    for breaker in _breakers([*_for_pages(), existence(), limits(), sessions(), broadcasts()]):
        breaker.succeed()


def are_left_alone() -> bool:
    """Whether this process leaves a Redis alone that pages are made with, because it did not answer. Asks nobody."""
    return not all(breaker.is_closed for breaker in _breakers(_for_pages()))


def _for_pages() -> list[redis.Redis]:
    return [timelines(), graph(), counters(), *graph_replicas()]


def _breakers(servers: Iterable[redis.Redis]) -> Iterator[Breaker]:
    for server in servers:
        pool = getattr(server, "connection_pool", None)
        if isinstance(pool, RedisConnections):
            yield pool.breaker


@cache
def script(client: redis.Redis, source: str) -> Script:
    """A Lua script bound to a client; sent by digest, loaded again when Redis has forgotten it."""
    return client.register_script(source)


class Request(NamedTuple):
    """A Lua script to be run on keys."""

    source: str
    keys: Sequence[str]
    args: Sequence[Any]


def run_script(client: redis.Redis, request: Request) -> Any:
    """What a script answers."""
    return script(client, request.source)(keys=request.keys, args=request.args)


def run_batch(client: redis.Redis, requests: Sequence[Request]) -> list[Any]:
    """What several scripts answer, in one round trip."""
    return trip(client, [call(*request) for request in requests])


def configured_topology() -> Topology:
    """The topology of the settings, which holds until staff change it."""
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
    """Whether processes follow changes of the topology; tests switch it off."""
    return bool(settings.CACHE_TOPOLOGY_LISTENS)


@contextmanager
def memcached_at(url: str) -> Iterator[Any]:
    """A connection of its own to any Memcached, for looking after it; answers are waited for.

    Raises one of MEMCACHED_ERRORS when used, not when made.
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


class Connection(Client):  # type: ignore[misc]  # pymemcache has no types
    """A connection to a Memcached node on which a request is sent now and its answer is read later.

    `is_proved`: the node has answered on it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.is_proved = False

    def send(self, data: bytes) -> None:
        """Send all of it, connecting first if need be. OSError is the caller's."""
        if self.sock is None:
            self._connect()
        self.sock.sendall(data)

    def receive(self, *, seconds: float) -> bytes:
        """What has come, waiting up to `seconds`. OSError is the caller's."""
        if self.sock is None:
            raise ConnectionResetError("closed")
        if seconds < self.timeout * 0.9:  # else the one it has will do, without a system call
            self.sock.settimeout(seconds)
            data: bytes = self.sock.recv(RECEIVE_BYTES)
            self.sock.settimeout(self.timeout)
        else:
            data = self.sock.recv(RECEIVE_BYTES)
        if not data:
            raise ConnectionResetError("closed by the node")
        return data


class Connections(ObjectPool):  # type: ignore[misc]  # as above
    """The connections to one node, as many as threads use it at once.

    The last used one comes first: a thread that works alone keeps to one, and so to the order of what it sends.
    """

    def get(self) -> Connection:
        """One that nobody uses, or a new one."""
        with self._lock:
            self._free_objs.rotate(1)
        found: Connection = super().get()
        return found

    def take_idle(self) -> list[Connection]:
        """All that nobody uses; the caller closes them."""
        with self._lock:
            idle = list(self._free_objs)
            self._free_objs.clear()
        return idle


def memcached_connections(url: str) -> Connections:
    """The pool of connections to a Memcached node; none is open yet."""

    def connection() -> Connection:
        return Connection(
            url,
            connect_timeout=settings.MEMCACHED_TIMEOUT_SECONDS,
            timeout=settings.MEMCACHED_TIMEOUT_SECONDS,
            no_delay=True,
            default_noreply=False,
        )

    return Connections(connection, after_remove=Connection.close)


def memcached_timeout() -> float:
    """How long a node may take to answer, in seconds."""
    return float(settings.MEMCACHED_TIMEOUT_SECONDS)


def key_prefix() -> bytes:
    """What all keys of this site begin with."""
    return bytes(settings.CACHE_KEY_PREFIX.encode())


def refills_all_l1() -> bool:
    """Whether what was loaded goes to every L1 group, not only to the one that was asked."""
    return bool(settings.CACHE_REFILL_ALL_L1)
