"""Reads of several classes at the same time: one multi-get of Memcached, and one pipeline for each server of Redis.

Everything is sent before the first answer is read. So a page waits for the slowest of its servers and not for one after
the other (source 000: concurrent fetch and assembly), without a thread: what is fetched needs no work of ours meanwhile.
"""

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeVar

from feedcache.memcached.reads import Read
from feedcache.memcached.tiers import TieredCache, tiers
from feedcache.read_through import ReadThrough, ReadThroughCall
from feedcache.redis_servers.clients import Command, PendingCommands, server_of, unless_refused
from feedcache.redis_servers.connections import Redis, RedisError
from feedcache.timing import spend

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

Later = Callable[[], T]  # to be called after `go`


@dataclass(slots=True)
class _Entries:
    """What is asked of one kind of entry."""

    kind: ReadThrough[Any, Any]
    names: dict[str, Any]
    load: Callable[[list[Any]], dict[Any, Any]]
    accept: Callable[[Any, Any], bool] | None
    stage: str
    found: dict[Any, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Commands:
    """What is asked of one class of data in Redis."""

    commands: Sequence[Command]
    stage: str
    refusals: bool
    answers: list[Any] = field(default_factory=list)
    error: RedisError | None = None

    def take(self) -> list[Any]:
        """The answers, RedisError when there are none."""
        if self.error is not None:
            raise self.error
        return self.answers if self.refusals else unless_refused(self.answers)


class Batch:
    """One round trip. Ask for everything, then `go`, then call what asking returned."""

    def __init__(self) -> None:
        self.cache: TieredCache = tiers()
        self.read: Read | None = None
        self._entries: list[_Entries] = []
        self._servers: dict[str, tuple[Redis, list[_Commands]]] = {}
        self._departures: list[tuple[PendingCommands, list[_Commands]]] = []
        self._landing: Callable[[], Read]
        self._began = 0.0

    def entries(
        self,
        kind: ReadThrough[K, V],
        keys: Collection[K],
        load: Callable[[list[K]], dict[K, V]],
        *,
        accept: Callable[[K, V], bool] | None = None,
        stage: str = "",
    ) -> Later[dict[K, V]]:
        """The entries of one kind, as by its `get_many`; what is missing is loaded by `go`."""
        asked = _Entries(kind, kind.names(keys, self.cache), load, accept, stage)
        self._entries.append(asked)
        return lambda: asked.found

    def answers(
        self, client: Redis, commands: Sequence[Command], *, stage: str = "", refusals: bool = False
    ) -> Later[list[Any]]:
        """The answers of a server of Redis; RedisError when it gives none, or refuses one of the commands.

        With `refusals` these are errors among the answers.
        """
        asked = _Commands(commands, stage, refusals=refusals)
        self._servers.setdefault(server_of(client), (client, []))[1].append(asked)
        return asked.take

    def go(self) -> None:
        """Send everything, wait for all answers, and load what Memcached did not have."""
        self.send()
        self.collect()

    def send(self) -> None:
        """Send everything. `land` must follow."""
        self._began = perf_counter()
        self._departures = [
            (PendingCommands(client, [command for one in asked for command in one.commands]), asked)
            for client, asked in self._servers.values()
        ]
        self._landing = self.cache.ask([name for one in self._entries for name in one.names])

    def collect(self) -> None:
        """Wait for all answers, and load what Memcached did not have."""
        try:
            read = self.read = self._landing()
            for one in self._entries:
                spend(one.stage, perf_counter() - self._began)
            for departure, asked in self._departures:
                self._take(departure, asked)
        finally:
            for departure, _asked in self._departures:
                departure.discard()
        for one in self._entries:
            filling = ReadThroughCall(one.kind, self.cache, read, one.names, one.load, one.accept)
            one.found = filling.run(refill=one is self._entries[-1])

    def _take(self, departure: PendingCommands, asked: Sequence[_Commands]) -> None:
        try:
            answers = departure.collect()
        except RedisError as error:
            for one in asked:
                one.error = error
            return
        for one in asked:
            one.answers, answers = answers[: len(one.commands)], answers[len(one.commands) :]
            spend(one.stage, perf_counter() - self._began)

    @property
    def is_current(self) -> bool:
        """Whether what Memcached answered may be believed by what this process knows of its nodes by now."""
        return self.read is None or self.cache.is_current(self.read)
