"""Redis clients for a server, Sentinel (both with a circuit breaker) and Redis Cluster; several commands per trip.

The client of a cluster has the interface of a client of one server. The address of a cluster is
`redis+cluster://user:password@host:port,host:port`. Its client connects when it is first used; each of the client's
failures is a RedisError, as with one server.
`redis+sentinel://user:password@host:port,host:port/name/0` names Sentinels, and database 0 of the primary that they
call `name`; the login is the primary's. `rediss:`, `rediss+cluster:` and `rediss+sentinel:` are the same with TLS,
which the Sentinels must use, too.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache, cached_property, lru_cache
from itertools import compress
from time import perf_counter
from typing import Any, NamedTuple, Self, cast
from urllib.parse import unquote, urlsplit

import redis
from hiredis import pack_command
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.commands import CoreCommands
from redis.exceptions import NoScriptError, RedisClusterException
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelConnectionPool

from feedcache import stats
from feedcache.breaker import Breaker

CLUSTERS = ("redis+cluster://", "rediss+cluster://")
SENTINELS = ("redis+sentinel://", "rediss+sentinel://")
TLS = "rediss"  # addresses with TLS begin with it
CONNECT_TIMEOUT_SECONDS = 0.2
CACHE_TIMEOUT_SECONDS = 0.2
DEFAULT_PORT = 6379
CONNECTIONS_PER_NODE = 64
NODE_TIMEOUT_SECONDS = 10
ROWS_TIMEOUT_SECONDS = 1
MAX_PAUSE_SECONDS = 1.0  # the longest pause of a server's breaker

Command = tuple[Any, ...]

RedisError = redis.RedisError


class _Monitored:
    """Mixin for a connection class. It remembers whether the server has failed since the connection was lent, and when
    something was sent (a `perf_counter` time; 0 if nothing was sent).
    """

    did_fail = False
    sent_at = 0.0

    def connect(self, *args: Any, **options: Any) -> Any:
        self.did_fail = True
        result = super().connect(*args, **options)  # type: ignore[misc]  # the method is in the other base class
        self.did_fail = False  # also if the first of two attempts failed
        return result

    def send_packed_command(self, *args: Any, **options: Any) -> Any:
        self.sent_at = perf_counter()
        try:
            return super().send_packed_command(*args, **options)  # type: ignore[misc]  # as in `connect`
        except (redis.ConnectionError, redis.TimeoutError):
            self.did_fail = True
            raise

    def read_response(self, *args: Any, **options: Any) -> Any:
        connection: Any = self
        try:
            return super().read_response(*args, **options)  # type: ignore[misc]  # as in `connect`
        except (redis.ConnectionError, redis.TimeoutError):
            self.did_fail = True
            raise
        except redis.ReadOnlyError as error:
            connection.disconnect()  # after a failover, a new connection leads to the new primary
            raise redis.ConnectionError(str(error)) from error


class _CountsCalls:
    """Mixin for a pool. Counts a call when a connection that has sent something, or has failed, is returned."""

    def __init__(self, *args: Any, role: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self._backend = f"redis {role}"
        own: Any = self
        own.connection_class = type("Monitored", (_Monitored, own.connection_class), {})

    def get_connection(self, *_args: Any, **_options: Any) -> Any:
        connection = super().get_connection()  # type: ignore[misc]  # the method is in the other base class
        connection.sent_at = 0.0  # commands that open the connection are not a call
        return connection

    def release(self, connection: Any) -> None:
        if connection.sent_at or connection.did_fail:
            began = connection.sent_at or perf_counter()
            stats.count_call(self._backend, began, failed=connection.did_fail)
        connection.did_fail, connection.sent_at = False, 0.0
        super().release(connection)  # type: ignore[misc]  # as in `get_connection`


class CacheConnections(_CountsCalls, redis.ConnectionPool):
    """The pool for Django's cache. It has no breaker: a skipped delete would leave an outdated entry."""

    @classmethod
    def from_url(cls, url: str, **options: Any) -> Any:
        if not url.startswith(SENTINELS):
            return super().from_url(url, **options)
        return sentinel_pool(
            SentinelCacheConnections,
            url,
            timeout_seconds=CACHE_TIMEOUT_SECONDS,
            tls={
                name.removeprefix("ssl_"): path
                for name, path in options.items()
                if name.startswith("ssl_")
            },
            role="cache",
        )


class BreakingPool(_CountsCalls):
    """Mixin for a pool that stops using a server for a moment after it has failed.

    A page sends several requests to Redis. Without the breaker, each would wait for its timeout.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.breaker = Breaker(max_pause_seconds=MAX_PAUSE_SECONDS)

    def get_connection(self, *_args: Any, **_options: Any) -> Any:
        """A connection. While the breaker is open, raises ConnectionError immediately."""
        if not self.breaker.is_closed and not self.breaker.allows():
            raise redis.ConnectionError("Redis did not answer a moment ago")
        return super().get_connection()

    def release(self, connection: Any) -> None:
        if connection.did_fail:
            self.breaker.fail()
        elif not self.breaker.is_closed:
            self.breaker.succeed()
        super().release(connection)


class IdleFirst(redis.BlockingConnectionPool):
    """A pool that keeps idle connections in a list.

    redis-py's own pool makes a hundred function calls to lend a connection and take it back. For each round trip, that
    adds a fortieth to the time of a page.
    """

    def reset(self) -> None:
        """Drop all connections. Called at the start, and in a forked child."""
        pool: Any = super()  # redis-py has no types for this
        pool.reset()
        self._idle: list[Any] = []  # a list's append and pop are atomic

    def get_connection(self, *_args: Any, **_options: Any) -> Any:
        pool: Any = super()
        try:
            connection = self._idle.pop()
        except IndexError:
            return pool.get_connection()
        if connection.pid == os.getpid():  # else this is a forked child: redis-py resets the pool
            if _is_clean(connection):
                return connection
            connection.disconnect()
            pool.release(connection)
        return pool.get_connection()

    def release(self, connection: Any) -> None:
        pool: Any = super()
        # redis-py must take it, to drop a connection of the parent process or to wake a thread that waits for one
        if connection.pid != os.getpid() or self.pool.empty():
            pool.release(connection)
        else:
            self._idle.append(connection)


def _is_clean(connection: Any) -> bool:
    """Whether a connection is open, and no unread data is left on it."""
    try:
        return not connection.can_read()
    except (redis.RedisError, OSError):
        return False


class RedisConnections(BreakingPool, IdleFirst):
    """The connections to one server."""


class SentinelConnections(BreakingPool, SentinelConnectionPool):
    """The connections to the server that is currently the primary."""


class SentinelCacheConnections(_CountsCalls, SentinelConnectionPool):
    """Like CacheConnections, but to the server that is currently the primary."""


def sentinel_parts(url: str) -> tuple["Address", str, int]:
    """The Sentinels with the primary's login, the primary's name, and the database. Raises ValueError for a malformed
    address.
    """
    addresses, _, path = url.partition("://")[2].partition("/")
    name, _, database = path.partition("/")
    if not url.startswith(SENTINELS) or not name or not (database or "0").isdecimal():
        raise ValueError("not redis+sentinel://host:port,host:port/name/database")
    return parse(CLUSTERS[0] + addresses), name, int(database or 0)


def nodes_of(url: str) -> list[tuple[str, int]]:
    """The servers that an address names; none for the address of a socket."""
    if url.startswith(SENTINELS):
        return sentinel_parts(url)[0].nodes
    if url.startswith(CLUSTERS):
        return parse(url).nodes
    parts = urlsplit(url)
    return [(parts.hostname, parts.port or DEFAULT_PORT)] if parts.hostname else []


def tls_options(url: str, files: Mapping[str, str]) -> dict[str, str]:
    """The redis-py options for a connection with TLS; none for an address without TLS."""
    return {f"ssl_{name}": path for name, path in files.items()} if url.startswith(TLS) else {}


def sentinel_pool(
    pool: type[SentinelConnectionPool],
    url: str,
    *,
    timeout_seconds: float,
    tls: Mapping[str, str],
    **options: Any,
) -> Any:
    """A pool of connections to the primary; the Sentinels are queried for each new connection.

    `tls` contains the files for `tls_options`; an address without TLS does not use them.
    """
    address, name, database = sentinel_parts(url)
    timeouts: dict[str, Any] = {
        "socket_timeout": timeout_seconds,
        "socket_connect_timeout": CONNECT_TIMEOUT_SECONDS,
        "protocol": 2,
        "ssl": url.startswith(TLS),
        **tls_options(url, tls),
    }
    sentinel: Any = Sentinel  # redis-py has no types for this
    # without retries: the next Sentinel is tried instead of the same one again
    once = {**timeouts, "retry": Retry(NoBackoff(), 0)}
    sentinels = sentinel(address.nodes, sentinel_kwargs=once)
    login = {"username": address.username, "password": address.password}
    return pool(name, sentinels, db=database, **login, **timeouts, **options)


class Address(NamedTuple):
    """The parts of an address: some nodes of a cluster (clients find the others), or the Sentinels; and the login."""

    nodes: list[tuple[str, int]]
    username: str | None = None
    password: str | None = None

    @property
    def name(self) -> str:
        """The address without the login, as shown to staff."""
        return ", ".join(f"{host}:{port}" for host, port in self.nodes)


def parse(url: str) -> Address:
    """The parts of the address of a cluster. Raises ValueError if it is malformed."""
    if not url.startswith(CLUSTERS):
        raise ValueError(f"not the address of a cluster: it does not begin with {CLUSTERS[0]}")
    login, _, addresses = url.partition("://")[2].rstrip("/").rpartition("@")
    username, _, password = login.partition(":")
    nodes = [_node(address) for address in addresses.split(",")]
    return Address(nodes, unquote(username) or None, unquote(password) or None)


def _node(address: str) -> tuple[str, int]:
    host, separator, port = address.rpartition(":")
    if not separator or address.endswith("]"):
        host, port = address, str(DEFAULT_PORT)
    if not host or not port.isdecimal():
        raise ValueError(f"{address!r} is not host:port")
    return host.strip("[]"), int(port)


def _node_of(row: Sequence[str]) -> tuple[str, int]:
    """The address in a row of CLUSTER NODES, as in 10.0.0.7:6379@16379,name."""
    return _node(row[1].split(",")[0].split("@")[0])


class Cluster:
    """A cluster client that connects on first use."""

    def __init__(
        self,
        url: str,
        *,
        timeout_seconds: float,
        role: str = "",
        login: Mapping[str, Any] | None = None,
        tls: Mapping[str, str] | None = None,
    ) -> None:
        self.address = parse(url)._replace(**(login or {}))
        self._backend = f"redis {role}"
        self._options: dict[str, Any] = {
            "username": self.address.username,
            "password": self.address.password,
            "socket_timeout": timeout_seconds,
            "socket_connect_timeout": 0.2,
            "protocol": 2,
            **tls_options(url, tls or {}),
        }
        self._has_tls = url.startswith(TLS)

    @cached_property
    def _client(self) -> RedisCluster:
        node: Any = ClusterNode  # redis-py has no types for this
        try:
            return RedisCluster(
                startup_nodes=[node(host, port) for host, port in self.address.nodes],
                max_connections=CONNECTIONS_PER_NODE,
                require_full_coverage=False,
                retry=Retry(NoBackoff(), 1),
                ssl=self._has_tls,
                **self._options,
            )
        except RedisClusterException as error:
            raise redis.ConnectionError(str(error)) from error

    def masters(self) -> list[tuple[str, int]]:
        """The masters, as reported by the first node that answers. Raises RedisError if none answers."""
        for host, port in self.address.nodes:
            try:
                rows = self.rows(host, port)
            except redis.RedisError:
                continue
            masters = [row for row in rows if "master" in row[2].split(",")]
            return sorted(_node_of(row) for row in masters if "noaddr" not in row[2])
        raise redis.ConnectionError("no node of the cluster answers")

    def rows(self, host: str, port: int) -> list[list[str]]:
        """The rows of CLUSTER NODES from one node. Raises RedisError."""
        with closing(self.node(host, port, timeout_seconds=ROWS_TIMEOUT_SECONDS)) as client:
            lines: bytes = client.execute_command("CLUSTER", "NODES")
        return [line.split() for line in lines.decode().splitlines()]

    def node(self, host: str, port: int, *, timeout_seconds: float = NODE_TIMEOUT_SECONDS) -> Any:
        """A client for one node, for administration. It does not follow redirections."""
        options = {**self._options, "socket_timeout": timeout_seconds}
        if self._has_tls:
            options["connection_class"] = redis.SSLConnection
        return redis.Redis(connection_pool=redis.ConnectionPool(host=host, port=port, **options))

    def pipeline(self, transaction: bool = False) -> "ClusterPipeline":  # noqa: FBT001, FBT002 -- the library's own interface
        """A pipeline that sends each node its commands together. All keys of a transaction must be in one slot."""
        return ClusterPipeline(self, transaction=transaction)

    def queue(self, commands: Sequence["Queued"], *, transaction: bool) -> Any:
        """A redis-py pipeline that contains the commands. Connects if necessary."""
        client: Any = self._client
        pipeline = client.pipeline(transaction=transaction)
        for name, args, options in commands:
            if name == "execute_command" and args[0] == "EVALSHA":
                # otherwise the library asks a server for the keys of every script, in a round trip each
                node = client.nodes_manager.get_node_from_slot(client.keyslot(args[3]))
                pipeline.execute_command(*args, target_nodes=node, **options)
            elif name == "execute_command":
                pipeline.execute_command(*args, **options)
            else:  # not the pipeline's own methods: some refuse commands that work within a slot, such as RENAME
                getattr(CoreCommands, name)(pipeline, *args, **options)
        return pipeline

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._client, name)
        return self._guarded(attribute) if callable(attribute) else attribute

    def _guarded(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            with self.counted_call():
                return method(*args, **options)

        return call

    @contextmanager
    def counted_call(self) -> Iterator[None]:
        """Count a call, and turn the library's errors about a whole cluster into RedisErrors, which callers catch."""
        began, failed = perf_counter(), True
        try:
            yield
            failed = False
        except redis.ResponseError:
            failed = False
            raise
        except RedisClusterException as error:
            raise redis.ConnectionError(str(error)) from error
        finally:
            stats.count_call(self._backend, began, failed=failed)


Queued = tuple[str, tuple[Any, ...], dict[str, Any]]


class ClusterPipeline:
    """Commands for a cluster. Only `execute` talks to servers, so only it can fail."""

    def __init__(self, cluster: Cluster, *, transaction: bool) -> None:
        self._cluster = cluster
        self._transaction = transaction
        self._commands: list[Queued] = []

    def __getattr__(self, name: str) -> Callable[..., "ClusterPipeline"]:
        def queue(*args: Any, **options: Any) -> ClusterPipeline:
            self._commands.append((name, args, options))
            return self

        return queue

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None: ...

    def execute(self, raise_on_error: bool = True) -> list[Any]:  # noqa: FBT001, FBT002 -- as above
        commands, self._commands = self._commands, []
        with self._cluster.counted_call():
            pipeline = self._cluster.queue(commands, transaction=self._transaction)
            answers: list[Any] = pipeline.execute(raise_on_error=raise_on_error)
            for answer in answers:  # a lost node fails the pipeline, as with one server
                if isinstance(answer, Exception) and not isinstance(answer, redis.ResponseError):
                    raise answer
        return answers


_sources: dict[str, str] = {}  # digest -> Lua


class ScriptCall(NamedTuple):
    """A call of a Lua script, as one of the commands for `execute`. In a cluster, all its keys must be in one slot."""

    source: str
    keys: Sequence[str]
    args: Sequence[Any]


def _evalsha(command: Command) -> Command:
    if not isinstance(command, ScriptCall):
        return command
    source, keys, args = command
    return ("EVALSHA", _digest_of(source), len(keys), *keys, *args)


@cache
def _digest_of(source: str) -> str:
    digest = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
    _sources[digest] = source
    return digest


def execute(client: redis.Redis, commands: Sequence[Command]) -> list[Any]:
    """Send commands together, in one round trip per server, and return their results.

    Raises RedisError if one of them failed; the others may have been executed.
    """
    return raise_first_error(PendingCommands(client, commands).collect())


def execute_atomically(client: redis.Redis, commands: Sequence[Command]) -> list[Any]:
    """Like `execute`, but in a transaction, except on a cluster: there, a transaction fails while its slot is moved.

    If Redis has lost a script, all commands are executed again.
    """
    if is_cluster(client):
        return execute(client, commands)
    transaction = [("MULTI",), *commands, ("EXEC",)]
    answers: list[Any] = execute(client, transaction)[-1]
    lost = [isinstance(answer, NoScriptError) for answer in answers]
    if any(lost):
        for command in compress(commands, lost):
            client.script_load(command[0])
        answers = execute(client, transaction)[-1]
    return raise_first_error(answers)


def run_script(
    client: redis.Redis, source: str, keys: Sequence[str], args: Sequence[Any] = ()
) -> Any:
    return execute(client, [ScriptCall(source, keys, args)])[0]


def raise_first_error(answers: list[Any]) -> list[Any]:
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answers


def _with_scripts(
    client: redis.Redis, commands: Sequence[Command], answers: list[Any]
) -> list[Any]:
    """Load the scripts that Redis has lost, and repeat the commands that needed them."""
    lost = [index for index, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
    if not lost:
        return answers
    for digest in {commands[index][1] for index in lost}:
        client.script_load(_sources[digest])
    repeated = dict(zip(lost, _execute(client, [commands[index] for index in lost]), strict=True))
    return [repeated.get(index, answer) for index, answer in enumerate(answers)]


class PendingCommands:
    """Commands that have been sent to a server. Their results are read later, so that several servers work at the same
    time.

    Call `collect` or `discard` afterwards. `collect` sends the commands if the client is for a cluster, or (again) if
    sending them has failed without a time-out.
    """

    def __init__(self, client: redis.Redis, commands: Sequence[Command]) -> None:
        self._client: Any = client
        self._commands = list(map(_evalsha, commands))
        self._connection: Any = None
        self._error: Exception | None = None
        if not is_cluster(client):
            self._send()

    def _send(self) -> None:
        try:
            self._connection = self._client.connection_pool.get_connection()
            packed = [b"".join(map(pack_command, self._commands))]
            self._connection.send_packed_command(packed)
        except redis.RedisError as error:
            self._error = error
            self.discard()

    def collect(self) -> list[Any]:
        """The results in order; the result of a failed command is an error. Raises RedisError if the server does not
        answer.
        """
        if isinstance(self._error, redis.TimeoutError):
            raise self._error
        if self._connection is None:
            answers = _execute(self._client, self._commands)
        else:
            try:
                answers = [self._read(command) for command in self._commands]
            except BaseException:
                self.discard()
                raise
            self._client.connection_pool.release(self._connection)
            self._connection = None
        return _with_scripts(self._client, self._commands, answers)

    def _read(self, command: Command) -> Any:
        try:
            return self._client.parse_response(self._connection, command[0])
        except redis.ResponseError as error:
            return error

    def discard(self) -> None:
        """Close the connection if it may have unread results, which its next user would get."""
        if self._connection is not None:
            self._connection.disconnect()
            self._client.connection_pool.release(self._connection)
            self._connection = None


@lru_cache(maxsize=64)
def server_of(client: redis.Redis) -> str:
    """The identity of a client's server. Commands for the same server can be sent together, even through different
    clients.
    """
    if is_cluster(client):
        return f"cluster {id(client)}"
    pool: Any = client.connection_pool
    if isinstance(pool, SentinelConnectionPool):
        return f"sentinel {id(pool)}"
    options: dict[str, Any] = pool.connection_kwargs
    return repr([options.get(name) for name in ("host", "port", "path", "db", "username")])


def is_cluster(client: redis.Redis) -> bool:
    """Whether a client is for a cluster, where all keys of a command or script must be in one slot."""
    return cluster_of(client) is not None


def cluster_of(client: redis.Redis) -> Cluster | None:
    """The cluster behind a client; None for a single server."""
    found = cast("Any", client)
    return found if isinstance(found, Cluster) else None


def may_evict(client: redis.Redis) -> bool:
    """Whether a server, or any server of a cluster, may evict keys when its memory is full."""
    everywhere = {"target_nodes": RedisCluster.PRIMARIES} if is_cluster(client) else {}
    answer: dict[str, Any] = client.info("memory", **everywhere)
    servers = answer.values() if is_cluster(client) else [answer]
    return any(server.get("maxmemory_policy") != "noeviction" for server in servers)


def _execute(client: redis.Redis, commands: Sequence[Command]) -> list[Any]:
    pipeline = client.pipeline(transaction=False)
    for command in commands:
        pipeline.execute_command(*command)  # type: ignore[no-untyped-call]  # untyped in redis-py
    return pipeline.execute(raise_on_error=False)
