"""Reads of several classes of data at the same time: one multi-get of Memcached, and one pipeline for each Redis server.

Everything is sent before the first answer is read. So a page waits for the slowest of its servers instead of for one
after the other (source 000: concurrent fetch and assembly), and needs no threads for it.
"""

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeVar

from feedcache.memcached.reads import Read
from feedcache.memcached.tiers import TieredCache, tiers
from feedcache.read_through import ReadThrough, ReadThroughCall
from feedcache.redis_servers.clients import (
    Command,
    PendingCommands,
    raise_first_error,
    server_of,
)
from feedcache.redis_servers.connections import Redis, RedisError
from feedcache.timing import spend

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

Future = Callable[[], T]  # call it after `execute`


@dataclass(slots=True)
class _Entries:
    """Queued reads of one kind of value in Memcached."""

    kind: ReadThrough[Any, Any]
    names: dict[str, Any]
    load: Callable[[list[Any]], dict[Any, Any]]
    accept: Callable[[Any, Any], bool] | None
    stage: str
    values: dict[Any, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Commands:
    """Queued commands of one class of data in Redis."""

    commands: Sequence[Command]
    stage: str
    return_errors: bool
    answers: list[Any] = field(default_factory=list)
    error: RedisError | None = None

    def result(self) -> list[Any]:
        if self.error is not None:
            raise self.error
        return self.answers if self.return_errors else raise_first_error(self.answers)


class Batch:
    """One round trip. Queue reads, call `execute`, then call the futures."""

    def __init__(self) -> None:
        self.cache: TieredCache = tiers()
        self.read: Read | None = None
        self._entries: list[_Entries] = []
        self._servers: dict[str, tuple[Redis, list[_Commands]]] = {}
        self._pending: list[tuple[PendingCommands, list[_Commands]]] = []
        self._collect_read: Callable[[], Read]
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
        entries = _Entries(kind, kind.names(keys, self.cache), load, accept, stage)
        self._entries.append(entries)
        return lambda: entries.values

    def commands(
        self,
        client: Redis,
        commands: Sequence[Command],
        *,
        stage: str = "",
        return_errors: bool = False,
    ) -> Future[list[Any]]:
        """Queue commands for a Redis; RedisError when the server does not answer, or refuses a command.

        With `return_errors` refused commands have their errors among the results instead.
        """
        queued = _Commands(commands, stage, return_errors=return_errors)
        self._servers.setdefault(server_of(client), (client, []))[1].append(queued)
        return queued.result

    def execute(self) -> None:
        """Send everything, wait for all answers, and load values that Memcached did not have."""
        self.send()
        self.collect()

    def send(self) -> None:
        """Send everything; call `collect` afterwards."""
        self._began = perf_counter()
        self._pending = [
            (
                PendingCommands(client, [command for part in queued for command in part.commands]),
                queued,
            )
            for client, queued in self._servers.values()
        ]
        self._collect_read = self.cache.ask(
            [name for entries in self._entries for name in entries.names]
        )

    def collect(self) -> None:
        """Wait for all answers, and load values that Memcached did not have."""
        try:
            read = self.read = self._collect_read()
            for entries in self._entries:
                spend(entries.stage, perf_counter() - self._began)
            for pending, queued in self._pending:
                self._assign(pending, queued)
        finally:
            for pending, _queued in self._pending:
                pending.discard()
        for entries in self._entries:
            call = ReadThroughCall(
                entries.kind, self.cache, read, entries.names, entries.load, entries.accept
            )
            entries.values = call.run(refill=entries is self._entries[-1])

    def _assign(self, pending: PendingCommands, queued: Sequence[_Commands]) -> None:
        try:
            answers = pending.collect()
        except RedisError as error:
            for part in queued:
                part.error = error
            return
        for part in queued:
            count = len(part.commands)
            part.answers, answers = answers[:count], answers[count:]
            spend(part.stage, perf_counter() - self._began)

    @property
    def is_current(self) -> bool:
        """Whether the Memcached nodes still have the generations under which they answered, as far as this process knows."""
        return self.read is None or self.cache.is_current(self.read)
