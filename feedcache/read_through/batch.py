"""Several kinds of data, from Memcached and several Redis servers, in one round trip.

Everything is sent before the first answer is read, except commands for a Redis Cluster (`PendingCommands`). So a page
waits only for the slowest of its servers, and needs no threads (source 000: concurrent fetch and assembly).

**Revision check.** A write is acknowledged when every node has it, or when Redis records that a node missed it. Other
processes see this record within a second, which is too late for a reader who must not see a post that has just been
deleted. So a page reads the generations of the nodes and the version of the topology in the same round trip as its ids.
The values of a node are used only if Redis confirms the generation and the version under which they were read.
"""

import json
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

from feedcache import stats
from feedcache.connections import Redis, RedisError, configuration, configured_topology
from feedcache.memcached_node import GENERATIONS_KEY
from feedcache.memcached_tiers import Append, Read, TieredCache, tiers, write_in_force
from feedcache.read_through.cache import ReadThrough, ReadThroughCall
from feedcache.redis_clients import Command, PendingCommands, raise_first_error, server_of
from feedcache.servers import topology_listener

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

Future = Callable[[], T]  # call it after `execute`


@dataclass(slots=True)
class _QueuedRead:
    """Queued reads of one kind of value in Memcached."""

    kind: ReadThrough[Any, Any]
    names: dict[str, Any]
    load: Callable[[list[Any]], dict[Any, Any]]
    accept: Callable[[Any, Any], bool] | None
    stage: str
    values: dict[Any, Any] = field(default_factory=dict)


class _QueuedAppend(NamedTuple):
    """A queued append to one value in Memcached."""

    kind: ReadThrough[Any, Any]
    key: Any
    data: bytes
    start: bytes | None


@dataclass(slots=True)
class QueuedCommands:
    """Queued commands for one Redis server.

    `Batch.execute` sets the answers (an error for a refused command), or the error of the server.
    `has_failed`: there is no answer, or one of the answers is an error.
    """

    commands: Sequence[Command]
    stages: Sequence[str]
    answers: list[Any] = field(default_factory=list)
    error: RedisError | None = None
    has_failed: bool = False

    def raise_error(self) -> None:
        """Raise RedisError if the server did not answer, or refused a command."""
        if self.error is not None:
            raise self.error
        raise_first_error(self.answers)


class Batch:
    """One round trip: queue reads and writes, call `execute`, then read the results."""

    def __init__(self) -> None:
        self.cache: TieredCache = tiers()
        self.read: Read | None = None
        self.is_current = False  # until `execute` has checked it
        self.has_appended = True  # whether all processes will read the appended bytes
        self._reads: list[_QueuedRead] = []
        self._appends: list[_QueuedAppend] = []
        self._servers: dict[str, tuple[Redis, list[QueuedCommands]]] = {}
        self._pending: list[tuple[PendingCommands, list[QueuedCommands]]] = []
        self._collect_read: Callable[[], Read]
        self._collect_appends: Callable[[], bool]
        self._revision_check: QueuedCommands | None = None
        self._began = 0.0

    def get_many(
        self,
        kind: ReadThrough[K, V],
        keys: Collection[K],
        load: Callable[[list[K]], dict[K, V]],
        *,
        accept: Callable[[K, V], bool] | None = None,
        stage: str = "",
    ) -> Future[dict[K, V]]:
        """Queue `kind.get_many`; missing values are loaded by `execute`."""
        queued = _QueuedRead(kind, kind.names(keys, self.cache), load, accept, stage)
        self._reads.append(queued)
        return partial(getattr, queued, "values")

    def get_checked(
        self, kind: ReadThrough[K, V], key: K, load: Callable[[list[K]], dict[K, V]]
    ) -> V | None:
        """The value of a key, loaded if missing. Executes the batch and everything queued in it.

        Returns None if the value does not exist, or if the revision check fails, for example because Redis is down.
        """
        found = self.get_many(kind, [key], lambda keys: load(keys) if self.is_current else {})
        self.execute(check_revisions=True)
        return found().get(key) if self.is_current else None

    def append(
        self, kind: ReadThrough[K, V], key: K, data: bytes, *, start: bytes | None = None
    ) -> None:
        """Queue bytes to be appended, after a commit, to the cached value of a key; without one, to `start` (if given).

        They may be appended more than once. Readers must refuse a value from a lower layer that is older than a value
        that they have read from a layer above. `execute` waits until every layer has the bytes, and sets
        `has_appended`.
        """
        self._appends.append(_QueuedAppend(kind, key, data, start))

    def commands(
        self, client: Redis, commands: Sequence[Command], *, stages: Sequence[str] = ()
    ) -> QueuedCommands:
        """Queue commands for a Redis server. A refused command has an error as its answer."""
        queued = QueuedCommands(commands, stages)
        self._servers.setdefault(server_of(client), (client, []))[1].append(queued)
        return queued

    def execute(self, *, check_revisions: bool = False) -> None:
        """Send everything, wait for all answers, and load values that Memcached did not have.

        With `check_revisions`, `is_current` is afterwards True if the topology, and the generations of all nodes that
        this batch has read, are those in Redis. It is False if no Memcached is configured, or if Redis does not answer.
        A node that is down does not matter, because it cannot return stale values.
        """
        self._send(check_revisions=check_revisions)
        self._collect()

    def _send(self, *, check_revisions: bool) -> None:
        if check_revisions:
            commands = [("HGETALL", GENERATIONS_KEY), ("GET", topology_listener.KEY)]
            self._revision_check = self.commands(configuration(), commands)
        self._began = perf_counter()
        if self._appends:
            self._collect_appends = self._send_appends(self.cache)
        for client, queued in self._servers.values():
            commands = [command for part in queued for command in part.commands]
            self._pending.append((PendingCommands(client, commands), queued))
        names = [name for queued in self._reads for name in queued.names]
        is_shared = not all(queued.kind.is_personal for queued in self._reads)
        self._collect_read = self.cache.ask(names, uses_l1=is_shared)

    def _collect(self) -> None:
        try:
            read = self.read = self._collect_read()
            stats.spend([queued.stage for queued in self._reads], perf_counter() - self._began)
            for pending, queued in self._pending:
                self._assign(pending, queued)
        except BaseException:
            for pending, _queued in self._pending:
                pending.discard()
            raise
        if self._revision_check is not None:
            self.is_current = self._has_current(self._revision_check)
        if self._appends:
            self.has_appended = self._collect_appends()
            if not self.cache.is_in_force:
                self.has_appended = write_in_force(lambda cache: self._send_appends(cache)())
        for each in self._reads:
            call = ReadThroughCall(each.kind, self.cache, read, each.names, each.load, each.accept)
            each.values = call.run(refill=each is self._reads[-1])

    def _send_appends(self, cache: TieredCache) -> Callable[[], bool]:
        return cache.append_many(
            {
                kind.name_of(key, cache): Append(data, start, kind.jittered_ttl())
                for kind, key, data, start in self._appends
            }
        )

    def _assign(self, pending: PendingCommands, queued: Sequence[QueuedCommands]) -> None:
        try:
            answers = pending.collect()
        except RedisError as error:
            for part in queued:
                part.error, part.has_failed = error, True
            return
        for part in queued:
            count = len(part.commands)
            part.answers, answers = answers[:count], answers[count:]
            part.has_failed = any(isinstance(answer, RedisError) for answer in part.answers)
        stages = [name for part in queued for name in part.stages]
        stats.spend(stages, perf_counter() - self._began)

    def _has_current(self, check: QueuedCommands) -> bool:
        """Whether the topology, and the generations of the nodes read, are those in Redis."""
        if check.has_failed:
            return False
        generations, text = check.answers
        self.cache.learn(generations)
        return (
            self.cache.topology.version == _version_of(text)
            and self.cache.is_configured
            and (self.read is None or self.cache.is_current(self.read))
        )


# Queues writes in a batch; returns a function to call after `execute`, which checks their answers and handles errors.
QueueWrites = Callable[[Batch], Callable[[], None]]


def write_together(writes: Iterable[QueueWrites]) -> None:
    """Send the writes that several functions queue, in one round trip."""
    batch = Batch()
    checks = [queue(batch) for queue in writes]
    batch.execute()
    for check in checks:
        check()


@lru_cache(maxsize=4)
def _version_of(text: bytes | None) -> int:
    """The version of a published topology; of the settings' topology if none is published; -1 for garbage."""
    try:
        return int(json.loads(text)["version"]) if text else configured_topology().version
    except (ValueError, KeyError, TypeError):
        return -1
