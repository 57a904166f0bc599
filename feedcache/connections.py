"""Clients of Redis, and clients of Memcached for administration; reads from replicas.

Each process has one pool of connections for each class of data (such as "timelines") and address. Timeouts are short,
because pages wait for the answers. On the site, only this module and `redis_clients` import the client libraries.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Protocol, TypeVar, cast

import redis
import redis.asyncio
from pymemcache.client.base import Client
from pymemcache.exceptions import MemcacheError
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import SentinelConnectionPool

from feedcache.breaker import Breaker
from feedcache.redis_clients import (
    CLUSTERS,
    CONNECT_TIMEOUT_SECONDS,
    SENTINELS,
    TLS,
    BreakingPool,
    Cluster,
    RedisConnections,
    SentinelConnections,
    execute,
    parse,
    sentinel_parts,
    sentinel_pool,
    tls_options,
)
from feedcache.settings import current_settings
from feedcache.topology import Range, Tenant, Topology

PROBE_TIMEOUT_SECONDS = 0.3  # a staff page waits for the slowest node

Redis = redis.Redis
RedisError = redis.RedisError
MEMCACHED_ERRORS = (MemcacheError, OSError)
ResponseError = redis.ResponseError  # the server refused the command
Pipeline = redis.client.Pipeline


def configuration() -> redis.Redis:
    """The Redis at `redis_url`, which never moves.

    Processes read the topology there, report the version that they use, and listen for changes.
    """
    return client_at("timelines", "")


def timelines() -> redis.Redis:
    """The Redis server for timelines, such as home caches. It may evict them: they are rebuilt from PostgreSQL."""
    return client_at("timelines", tenant_of("timelines").url)


def dedicated_configuration() -> redis.Redis:
    """A client for the same server as `configuration`, but with separate connections.

    It is for a thread that may be running while the process forks, because a lock of the shared pool would stay locked
    in the child. It has no breaker, because no page waits for the thread.
    """
    return _redis(current_settings().redis_url, "listener", pool=redis.BlockingConnectionPool)


def graph() -> redis.Redis:
    """The Redis server for relations. It may evict them: they are rebuilt from PostgreSQL."""
    return client_at("graph", tenant_of("graph").url)


def replicas(name: str) -> list[redis.Redis]:
    """The configured replicas for one of `REPLICATED`; none if its data is, or may be, on another server by now.

    Only values with a revision are read there, because a revision shows whether the replica lags.
    """
    found = _replicas(name)
    return [] if found and tenant_of(name).url else found


REPLICATED = ("graph", "timelines")


@cache
def _replicas(name: str) -> list[redis.Redis]:
    settings = current_settings()
    urls = {"graph": settings.graph_replica_urls, "timelines": settings.timelines_replica_urls}
    return [_redis(url, f"{name} replica") for url in urls[name]]


def counters() -> redis.Redis:
    """The Redis server for counts. It must not evict them; lost counts are rebuilt from PostgreSQL.

    Raises ValueError if the settings name a cluster.
    """
    if _configured_url("counters").startswith(CLUSTERS):
        raise ValueError("the counters need one server, not a cluster")
    return client_at("counters", "")


def existence() -> redis.Redis:
    """The Redis server for the Bloom filters. It must not evict them; only marks with database rows can be rebuilt."""
    return client_at("existence", "")


def limits() -> redis.Redis:
    return client_at("limits", tenant_of("limits").url)


def sessions() -> redis.Redis:
    """The Redis server for Django's cache. Only health checks use this client; Django has its own connections."""
    return client_at("cache", "")


def broadcasts() -> redis.Redis:
    """The Redis server for pub/sub messages. A cluster passes each message on to all its nodes."""
    return client_at("broadcasts", tenant_of("broadcasts").url)


def async_broadcasts() -> Any:
    """A client for `broadcasts` on an event loop; in a cluster, it uses a random node. The caller closes it."""
    settings = current_settings()
    options: dict[str, Any] = {
        "socket_timeout": settings.redis_timeout_seconds,
        "socket_connect_timeout": settings.redis_timeout_seconds,
        "retry": None,
        "protocol": 2,
    }
    moved = tenant_of("broadcasts").url
    configured = _configured_url("broadcasts")
    url = moved or configured
    options |= tls_options(url, settings.redis_tls_files)
    if url.startswith(SENTINELS):
        options["ssl"] = url.startswith(TLS)
        address, name, database = sentinel_parts(url)
        login = {"username": address.username, "password": address.password}
        sentinel: Any = redis.asyncio.Sentinel  # redis-py has no types for this
        sentinels = sentinel(address.nodes, sentinel_kwargs=options)
        return sentinels.master_for(name, db=database, **login, **options)
    if moved or url.startswith(CLUSTERS):
        options |= _login(configured)
    if url.startswith(CLUSTERS):
        host, port = random.choice(parse(url).nodes)  # noqa: S311 -- not a secret
        scheme = "rediss" if url.startswith(TLS) else "redis"
        url = f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
    return redis.asyncio.Redis.from_url(url, **options)


async def close_async(client: Any) -> None:
    """Close a client from `async_broadcasts`, and its clients for the Sentinels."""
    await client.aclose()
    manager = getattr(client.connection_pool, "sentinel_manager", None)
    for sentinel in manager.sentinels if manager else []:
        await sentinel.aclose()


COUNTER_KINDS = ("posts", "users")


class Follower(Protocol):
    """What this module needs of `topology_listener.Listener`, which follows the topology for this process."""

    topology: Topology
    is_known: bool

    def known(self) -> Topology | None: ...


NOWHERE = Tenant("unix:///nowhere")  # no server: every call fails
_AT_SETTINGS = Tenant()
_followers: list[Callable[[], Follower]] = []


def follow_topology_with(make: Callable[[], Follower]) -> None:
    """Set the factory for the object that tracks the topology in this process. Until then, the settings apply."""
    _followers[:] = [cache(make)]


def _topology() -> Topology | None:
    """The topology of this process; None while it is unknown. The first call may wait until it is known."""
    if not _followers:
        return Topology()
    follower = _followers[0]()
    return follower.topology if follower.is_known else follower.known()


def tenant_of(name: str) -> Tenant:
    """The current server of a class of data; `NOWHERE` while the topology is unknown."""
    topology = _topology()
    return NOWHERE if topology is None else topology.tenants.get(name, _AT_SETTINGS)


def counter_ranges(kind: str) -> tuple[Range, ...]:
    """The servers of one kind of counters, by ranges of ids; () if all are at the address in the settings.

    While the topology is unknown, the only range is at `NOWHERE`.
    """
    topology = _topology()
    return (Range(0, NOWHERE),) if topology is None else topology.counters.get(kind, ())


def counters_at(url: str) -> redis.Redis:
    """The client for a range of counters."""
    return client_at("counters", url) if url else counters()


def counter_servers() -> list[redis.Redis]:
    """All servers with counters, including those that counters are moving to; the server in the settings first."""
    tenants = [one.tenant for kind in COUNTER_KINDS for one in counter_ranges(kind)]
    urls = ["", *(url for one in tenants for url in (one.url, one.also) if url)]
    return [counters_at(url) for url in dict.fromkeys(urls)]


def written(name: str) -> list[redis.Redis]:
    """The servers to which a class of data is written: the one that is read and, while the data moves, the other."""
    if name == "counters":
        return counter_servers()
    tenant = tenant_of(name)
    urls = [tenant.url] if tenant.also is None else [tenant.url, tenant.also]
    return [client_at(name, url) for url in urls]


@cache
def client_at(name: str, url: str) -> redis.Redis:
    """The client for a class of data at an address ("": the one in the settings), with the login in the settings."""
    configured = _configured_url(name)
    return _redis(url, name, login=_login(configured)) if url else _redis(configured, name)


def _configured_url(name: str) -> str:
    """The address in the settings for a class of data."""
    settings = current_settings()
    url: str = "" if name == "timelines" else getattr(settings, f"{name}_url")
    return url or settings.redis_url


def _login(url: str) -> dict[str, Any]:
    if url.startswith(CLUSTERS):
        _nodes, username, password = parse(url)
    elif url.startswith(SENTINELS):
        address, _name, _database = sentinel_parts(url)
        username, password = address.username, address.password
    else:
        options = dict(cast("Any", redis.connection).parse_url(url))
        username, password = options.get("username"), options.get("password")
    login = {"username": username, "password": password}
    return {name: value for name, value in login.items() if value is not None}


def forget_clients() -> None:
    """Drop all clients; new ones are made from the current settings when they are needed."""
    client_at.cache_clear()
    _replicas.cache_clear()


def _redis(
    url: str,
    role: str,
    *,
    pool: type[redis.BlockingConnectionPool] | None = None,
    login: Mapping[str, Any] | None = None,
) -> redis.Redis:
    """A client with a separate pool. Its calls are counted under `role`, except with `pool`, which clusters ignore."""
    settings = current_settings()
    timeout, tls = settings.redis_timeout_seconds, settings.redis_tls_files
    if url.startswith(CLUSTERS):
        cluster = Cluster(url, timeout_seconds=timeout, role=role, login=login, tls=tls)
        return cast("redis.Redis", cluster)
    counted = {} if pool else {"role": role}
    # one retry, only for broken connections: the server may have restarted since the last use
    retries: dict[str, Any] = {
        "retry": Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
        "retry_on_error": [redis.ConnectionError],
    }
    if url.startswith(SENTINELS):
        primary = sentinel_pool(
            SentinelConnectionPool if pool else SentinelConnections,
            url,
            timeout_seconds=timeout,
            tls=tls,
            **retries,
            **counted,
        )
        return redis.Redis(connection_pool=primary)
    # Built from a pool, because the plain constructor would retry ten times and delay a request for seconds.
    connections = (pool or RedisConnections).from_url(
        url,
        max_connections=64,
        timeout=timeout,
        socket_timeout=timeout,
        socket_connect_timeout=CONNECT_TIMEOUT_SECONDS,
        protocol=2,
        **tls_options(url, tls),
        **(login or {}),
        **retries,
        **counted,
    )
    return redis.Redis(connection_pool=connections)


def reset_breakers() -> None:
    """Close the breakers of all pools, but not those of `reader_of`; for tests that have restarted servers."""
    for breaker in _breakers(
        [*_needed_by_pages(), existence(), limits(), sessions(), broadcasts()]
    ):
        breaker.succeed()


def has_open_breaker() -> bool:
    """Whether this process currently skips a Redis server that pages need. Makes no request."""
    return not all(breaker.is_closed for breaker in _breakers(_needed_by_pages()))


def _needed_by_pages() -> list[redis.Redis]:
    copies = [replica for name in REPLICATED for replica in replicas(name)]
    return [timelines(), graph(), *counter_servers(), *copies]


def _breakers(servers: Iterable[redis.Redis]) -> Iterator[Breaker]:
    for server in servers:
        pool = getattr(server, "connection_pool", None)
        if isinstance(pool, BreakingPool):
            yield pool.breaker


def configured_topology() -> Topology:
    """The topology in the settings, which is used until staff change it."""
    return current_settings().topology


def listens() -> bool:
    """Whether this process follows changes to the topology, as set in the settings."""
    return current_settings().follows_topology


@contextmanager
def memcached_at(url: str) -> Iterator[Any]:
    """A separate connection to any Memcached node, for administration; every command waits for its reply.

    If the node fails, one of MEMCACHED_ERRORS is raised when the connection is used, not when it is opened.
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


def memcached_timeouts() -> tuple[float, float]:
    """How long a node may take to answer a read and a write, in seconds."""
    settings = current_settings()
    read = settings.memcached_timeout_seconds
    return read, max(read, settings.memcached_write_timeout_seconds)


def key_prefix() -> bytes:
    return current_settings().key_prefix.encode()


def refills_all_l1() -> bool:
    """Whether loaded values are stored in every L1 group, not only in the group that was read."""
    return current_settings().refills_all_l1


EXPIRE_EVERY = 16  # one in this many reads from a replica extends the time to live on the primary

T = TypeVar("T")


@cache
def _breaker(_replica: Redis) -> Breaker:
    return Breaker()


def primary_of(name: str) -> Redis:
    return graph() if name == "graph" else timelines()


def reader_of(name: str) -> Redis:
    """A random replica whose breaker allows a call; the primary if there is none."""
    found = replicas(name)
    for replica in random.sample(found, len(found)):
        if _breaker(replica).allows():
            return replica
    return primary_of(name)


def read_replicated(
    name: str,
    read: Callable[[Redis], T | None],
    *,
    keys: Sequence[str] = (),
    ttl_seconds: int = 0,
) -> T | None:
    """The result of `read` on a replica, or else on the primary; None is a miss. Raises RedisError if the primary
    fails.

    On a replica, `read` cannot extend the lifetime of `keys`. So after some of these reads, this function extends it on
    the primary.
    """
    reader, primary = reader_of(name), primary_of(name)
    if reader is not primary:
        result = _read_replica(reader, read)
        if result is not None:
            if keys and random.randrange(EXPIRE_EVERY) == 0:  # noqa: S311 -- not a secret
                _expire(primary, keys, ttl_seconds)
            return result
    return read(primary)


def _read_replica(replica: Redis, read: Callable[[Redis], T | None]) -> T | None:
    try:
        result = read(replica)
    except RedisError:
        _breaker(replica).fail()
        return None
    _breaker(replica).succeed()
    return result


def _expire(primary: Redis, keys: Sequence[str], ttl_seconds: int) -> None:
    with suppress(RedisError):  # the read succeeded; an expired key is loaded again
        execute(primary, [("EXPIRE", key, ttl_seconds) for key in keys])
