"""Clients of Redis: several commands in one round trip, and a Redis Cluster behind the interface of one server.

The address of a cluster is `redis+cluster://user:password@host:port,host:port`. A cluster client connects when it is
first used; each of its failures is a RedisError, as with one server.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple, Self, cast
from urllib.parse import unquote

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.commands import CoreCommands
from redis.exceptions import NoScriptError, RedisClusterException
from redis.retry import Retry

SCHEME = "redis+cluster://"
DEFAULT_PORT = 6379
CONNECTIONS_PER_NODE = 64
NODE_TIMEOUT_SECONDS = 10

Command = tuple[Any, ...]

RedisError = redis.RedisError


class Address(NamedTuple):
    """The nodes that know the rest of a cluster, and the login."""

    nodes: list[tuple[str, int]]
    username: str | None = None
    password: str | None = None


def parse(url: str) -> Address:
    """The parts of an address; ValueError when it is malformed."""
    if not url.startswith(SCHEME):
        raise ValueError(f"not the address of a cluster: it does not begin with {SCHEME}")
    login, _, addresses = url.removeprefix(SCHEME).rstrip("/").rpartition("@")
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


class Cluster:
    """A cluster client that connects on first use."""

    def __init__(self, url: str, *, timeout_seconds: float) -> None:
        self.address = parse(url)
        self._options: dict[str, Any] = {
            "username": self.address.username,
            "password": self.address.password,
            "socket_timeout": timeout_seconds,
            "socket_connect_timeout": 0.2,
            "protocol": 2,
        }

    @cached_property
    def _client(self) -> RedisCluster:
        node: Any = ClusterNode  # the library's types end here
        with _redis_errors():
            return RedisCluster(
                startup_nodes=[node(host, port) for host, port in self.address.nodes],
                max_connections=CONNECTIONS_PER_NODE,
                require_full_coverage=False,
                retry=Retry(NoBackoff(), 1),
                **self._options,
            )

    def node(self, host: str, port: int) -> Any:
        """A client of one node, for administration: a long time-out, and redirections are not followed."""
        options = {**self._options, "socket_timeout": NODE_TIMEOUT_SECONDS}
        return redis.Redis(connection_pool=redis.ConnectionPool(host=host, port=port, **options))

    def pipeline(self, transaction: bool = False) -> "ClusterPipeline":  # noqa: FBT001, FBT002 -- the library's own interface
        """Each node receives its commands together. All keys of a transaction must be in one slot."""
        return ClusterPipeline(self, transaction=transaction)

    def queue(self, commands: Sequence["Queued"], *, transaction: bool) -> Any:
        """A pipeline of the library that holds the commands. Connects."""
        client: Any = self._client
        pipeline = client.pipeline(transaction=transaction)
        for name, args, options in commands:
            if name == "execute_command" and args[0] == "EVALSHA":
                # else the library asks a server for the keys of every script, one round trip each
                node = client.nodes_manager.get_node_from_slot(client.keyslot(args[3]))
                pipeline.execute_command(*args, target_nodes=node, **options)
            elif name == "execute_command":
                pipeline.execute_command(*args, **options)
            else:  # not the pipeline's own methods: some refuse what a node would do, such as RENAME within a slot
                getattr(CoreCommands, name)(pipeline, *args, **options)
        return pipeline

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._client, name)
        return _guarded(attribute) if callable(attribute) else attribute


Queued = tuple[str, tuple[Any, ...], dict[str, Any]]


class ClusterPipeline:
    """Commands for a cluster. Only `execute` talks to servers, so nothing else fails."""

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
        with _redis_errors():
            pipeline = self._cluster.queue(commands, transaction=self._transaction)
            answers: list[Any] = pipeline.execute(raise_on_error=raise_on_error)
            for answer in answers:  # a lost node is an error of the pipeline, as with one server
                if isinstance(answer, Exception) and not isinstance(answer, redis.ResponseError):
                    raise answer
        return answers


@contextmanager
def _redis_errors() -> Iterator[None]:
    """The library's errors about a whole cluster are not RedisErrors: no caller would catch them."""
    try:
        yield
    except RedisClusterException as error:
        raise redis.ConnectionError(str(error)) from error


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        with _redis_errors():
            return method(*args, **options)

    return call


_sources: dict[str, str] = {}  # digest -> Lua


def evalsha(source: str, keys: Sequence[str], args: Sequence[Any]) -> Command:
    """A script as one command of `execute`. In a cluster all its keys must be in one slot."""
    return ("EVALSHA", _digest_of(source), len(keys), *keys, *args)


@cache
def _digest_of(source: str) -> str:
    digest = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
    _sources[digest] = source
    return digest


def execute(client: redis.Redis, commands: Sequence[Command]) -> list[Any]:
    """Send commands together, in one round trip per server; their results.

    RedisError when one of them failed: the others may have been executed.
    """
    pending = PendingCommands(client, commands)
    try:
        return raise_first_error(pending.collect())
    finally:
        pending.discard()


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
    """Commands sent to a server whose results are read later, so that several servers work at the same time.

    Call `collect` or `discard` in the end. A cluster receives its commands in `collect`.
    """

    def __init__(self, client: redis.Redis, commands: Sequence[Command]) -> None:
        self._client: Any = client
        self._commands = commands
        self._connection: Any = None
        self._error: Exception | None = None
        if not is_cluster(client):
            self._send()

    def _send(self) -> None:
        try:
            self._connection = self._client.connection_pool.get_connection()
            self._connection.send_packed_command(self._connection.pack_commands(self._commands))
        except redis.RedisError as error:
            self._error = error
            self.discard()

    def collect(self) -> list[Any]:
        """The results in order, errors of commands among them. RedisError when the server does not answer."""
        if isinstance(self._error, redis.TimeoutError):
            raise self._error
        if self._connection is None:
            answers = _execute(self._client, self._commands)
        else:
            answers = [self._read(command) for command in self._commands]
            self._client.connection_pool.release(self._connection)
            self._connection = None
        return _with_scripts(self._client, self._commands, answers)

    def _read(self, command: Command) -> Any:
        try:
            return self._client.parse_response(self._connection, command[0])
        except redis.ResponseError as error:
            return error

    def discard(self) -> None:
        """Close the connection unless `collect` has read from it: unread results would go to its next user."""
        if self._connection is not None:
            self._connection.disconnect()
            self._client.connection_pool.release(self._connection)
            self._connection = None


@lru_cache(maxsize=64)
def server_of(client: redis.Redis) -> str:
    """Identifies the server of a client: commands of clients with the same server can go together."""
    if is_cluster(client):
        return f"cluster {id(client)}"
    options: dict[str, Any] = client.connection_pool.connection_kwargs
    return repr([options.get(name) for name in ("host", "port", "path", "db", "username")])


def is_cluster(client: redis.Redis) -> bool:
    """Whether all keys of a command or script must be in one slot."""
    return isinstance(cast("Any", client), Cluster)


def may_evict(client: redis.Redis) -> bool:
    """Whether a server, or one of a cluster, may evict keys when its memory is full."""
    everywhere = {"target_nodes": RedisCluster.PRIMARIES} if is_cluster(client) else {}
    answer: dict[str, Any] = client.info("memory", **everywhere)
    servers = answer.values() if is_cluster(client) else [answer]
    return any(server.get("maxmemory_policy") != "noeviction" for server in servers)


def _execute(client: redis.Redis, commands: Sequence[Command]) -> list[Any]:
    pipeline = client.pipeline(transaction=False)
    for command in commands:
        pipeline.execute_command(*command)  # type: ignore[no-untyped-call]  # as the library has it
    return pipeline.execute(raise_on_error=False)
