"""Clients of Redis: several commands in one trip; and a Redis Cluster with the interface of one server.

The address of a cluster is `redis+cluster://user:password@host:port,host:port`. It connects when it is first used, and
whatever goes wrong with it is a RedisError, as with one server.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple, Self, cast
from urllib.parse import unquote

import redis
from hiredis import pack_command
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.commands import CoreCommands
from redis.exceptions import NoScriptError, RedisClusterException
from redis.retry import Retry

from feedcache.redis_servers.pool import is_refused

SCHEME = "redis+cluster://"
DEFAULT_PORT = 6379
CONNECTIONS_PER_NODE = 64
NODE_TIMEOUT_SECONDS = 10

Command = tuple[Any, ...]


RedisError = redis.RedisError


class Address(NamedTuple):
    """Where to begin to look for a cluster, and how to log in."""

    nodes: list[tuple[str, int]]
    username: str | None = None
    password: str | None = None


def parse(url: str) -> Address:
    """The parts of an address; ValueError when it is none."""
    if not url.startswith(SCHEME):
        raise ValueError(f"not an address of a cluster: it does not begin with {SCHEME}")
    login, _, places = url.removeprefix(SCHEME).rstrip("/").rpartition("@")
    username, _, password = login.partition(":")
    nodes = [_node(place) for place in places.split(",")]
    return Address(nodes, unquote(username) or None, unquote(password) or None)


def _node(place: str) -> tuple[str, int]:
    host, separator, port = place.rpartition(":")
    if not separator or place.endswith("]"):
        host, port = place, str(DEFAULT_PORT)
    if not host or not port.isdecimal():
        raise ValueError(f"{place!r} is not host:port")
    return host.strip("[]"), int(port)


class Cluster:
    """The client of a cluster, connected at its first use."""

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
        """One node, for looking after it: with patience, and without following redirections."""
        options = {**self._options, "socket_timeout": NODE_TIMEOUT_SECONDS}
        return redis.Redis(connection_pool=redis.ConnectionPool(host=host, port=port, **options))

    def pipeline(self, transaction: bool = False) -> "ClusterPipeline":  # noqa: FBT001, FBT002 -- the library's own interface
        """Commands sent to each node together, then all answers are read. A transaction keeps to one slot."""
        return ClusterPipeline(self, transaction=transaction)

    def queue(self, commands: Sequence["Queued"], *, transaction: bool) -> Any:
        """A pipeline of the library with commands in it; connects."""
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
        """Everything else, as the library has it."""
        found = getattr(self._client, name)
        return _guarded(found) if callable(found) else found


Queued = tuple[str, tuple[Any, ...], dict[str, Any]]


class ClusterPipeline:
    """Commands for a cluster. Nothing is asked of it before `execute`, so nothing else fails."""

    def __init__(self, cluster: Cluster, *, transaction: bool) -> None:
        self._cluster = cluster
        self._transaction = transaction
        self._commands: list[Queued] = []

    def __getattr__(self, name: str) -> Callable[..., "ClusterPipeline"]:
        """Any command, to be sent later."""

        def queue(*args: Any, **options: Any) -> ClusterPipeline:
            self._commands.append((name, args, options))
            return self

        return queue

    def __enter__(self) -> Self:
        """Nothing is held before `execute`."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Nor after it."""

    def execute(self, raise_on_error: bool = True) -> list[Any]:  # noqa: FBT001, FBT002 -- as above
        """Send everything; the answers in order."""
        commands, self._commands = self._commands, []
        with _redis_errors():
            pipeline = self._cluster.queue(commands, transaction=self._transaction)
            answers: list[Any] = pipeline.execute(raise_on_error=raise_on_error)
            for answer in answers:  # a node that is gone is nobody's answer, as with one server
                if isinstance(answer, Exception) and not isinstance(answer, redis.ResponseError):
                    raise answer
        return answers


@contextmanager
def _redis_errors() -> Iterator[None]:
    """The library's errors about a cluster as a whole are not RedisErrors: they would get past everything that expects one."""
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


def call(source: str, keys: Sequence[str], args: Sequence[Any]) -> Command:
    """A call of a script as one command of a `trip`. In a cluster all its keys are in one slot."""
    return ("EVALSHA", _digest_of(source), len(keys), *keys, *args)


@cache
def _digest_of(source: str) -> str:
    digest = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
    _sources[digest] = source
    return digest


def trip(client: redis.Redis, commands: Sequence[Command]) -> list[Any]:
    """The answers to commands sent together, in one round trip per server. RedisError when one of them failed; the others
    may have been carried out."""
    departure = PendingCommands(client, commands)
    try:
        return unless_refused(departure.collect())
    finally:
        departure.discard()


def unless_refused(answers: list[Any]) -> list[Any]:
    """Answers as they are; the first error among them is raised."""
    for answer in answers if is_refused(answers) else ():
        if isinstance(answer, Exception):
            raise answer
    return answers


def _with_scripts(
    client: redis.Redis, commands: Sequence[Command], answers: list[Any]
) -> list[Any]:
    """Send again the scripts that Redis forgot."""
    looked_at = enumerate(answers) if is_refused(answers) else ()
    if forgotten := [at for at, answer in looked_at if isinstance(answer, NoScriptError)]:
        for digest in {commands[at][1] for at in forgotten}:
            client.script_load(_sources[digest])
        again = _send(client, [commands[at] for at in forgotten])
        answers = [again.pop(0) if at in forgotten else one for at, one in enumerate(answers)]
    return answers


class PendingCommands:
    """Commands that were sent to a server now, and are answered later, so that several servers can work at the same time.

    Whoever made one lets it land and discards it in the end. A cluster is asked when its answers are waited for.
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
            # by the parser's own packer: redis-py's takes three times as long for the same bytes
            packed = b"".join([pack_command(command) for command in self._commands])
            self._connection.send_packed_command([packed])
        except redis.RedisError as error:
            self._error = error
            self.discard()

    def collect(self) -> list[Any]:
        """The answers in order, refusals as errors among them. RedisError when the server does not answer."""
        if isinstance(self._error, redis.TimeoutError):
            raise self._error
        if self._connection is None:
            answers = _send(self._client, self._commands)
        else:
            answers = self._answers()
            self._client.connection_pool.release(self._connection)
            self._connection = None
        return _with_scripts(self._client, self._commands, answers)

    def _answers(self) -> list[Any]:
        """As `parse_response` of the library gives them, without what no command here asks for."""
        answers: list[Any] = self._connection.read_answers(len(self._commands))
        shapes: dict[str, Callable[[Any], Any]] = self._client.response_callbacks
        for at, command in enumerate(self._commands):
            # commands are written in capitals here: the library's own way to look one up makes them so once more
            if (shape := dict.get(shapes, command[0])) and not isinstance(answers[at], Exception):
                answers[at] = shape(answers[at])
        return answers

    def discard(self) -> None:
        """Close the connection unless it landed: what nobody will read must not be read by its next user."""
        if self._connection is not None:
            self._connection.disconnect()
            self._client.connection_pool.release(self._connection)
            self._connection = None


@lru_cache(maxsize=64)
def server_of(client: redis.Redis) -> str:
    """Where a client's commands go: those of clients of one place can go together."""
    if is_cluster(client):
        return f"cluster {id(client)}"
    options: dict[str, Any] = client.connection_pool.connection_kwargs
    return repr([options.get(name) for name in ("host", "port", "path", "db", "username")])


def is_cluster(client: redis.Redis) -> bool:
    """Whether the keys of one command or script must be in one slot."""
    return isinstance(cast("Any", client), Cluster)


def may_evict(client: redis.Redis) -> bool:
    """Whether a server, or one of a cluster, may throw keys away when its memory is full."""
    everywhere = {"target_nodes": RedisCluster.PRIMARIES} if is_cluster(client) else {}
    answer: dict[str, Any] = client.info("memory", **everywhere)
    servers = answer.values() if is_cluster(client) else [answer]
    return any(one.get("maxmemory_policy") != "noeviction" for one in servers)


def _send(client: redis.Redis, commands: Sequence[Command]) -> list[Any]:
    pipeline = client.pipeline(transaction=False)
    for command in commands:
        pipeline.execute_command(*command)  # type: ignore[no-untyped-call]  # as the library has it
    return pipeline.execute(raise_on_error=False)
