"""Counts how often a request waits for the stores, and what it requests from them.

A round trip starts when something is sent after a response has been read. It is counted at the sockets of this process,
so requests sent to several servers before the first response is read are one trip. PostgreSQL's driver does not use
Python sockets, so its protocol trace is read instead.
"""

import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from django.conf import settings
from django.db import connection
from django.db.backends.signals import connection_created

from tools.bench.servers import memcached_addresses

SENDS, RECEIVES = ("send", "sendall", "sendmsg"), ("recv", "recv_into")
REDIS, MEMCACHED, BROKER, OTHER = "Redis", "Memcached", "the broker", "another server"
POSTGRES = "PostgreSQL"
READY = b"\tReadyForQuery\t"  # the server has answered and waits for the next message
EMPTY = b'\tQuery\t ""'  # the pool's check whether a connection is alive
CHECKS = "checks of the pool"
Command = list[bytes]


@dataclass(slots=True)
class Trips:
    """Counts of a block.

    `trips` counts round trips to all servers together, `by_server` those to each kind. `sent` counts requests, of which
    several may be sent to a server together. `commands` counts those sent to Redis, by name; a script call counts as
    one, whatever the script does.
    """

    trips: int = 0
    sent: int = 0
    by_server: Counter[str] = field(default_factory=Counter)
    commands: Counter[str] = field(default_factory=Counter)


class _Watch:
    """The state of sockets while they are watched."""

    def __init__(self) -> None:
        self.found = Trips()
        self._waits = False  # for a response to the last request
        self._kinds_that_wait: set[str] = set()
        self._kinds: dict[int, str] = {}
        self._unread: dict[int, bytes] = {}  # the beginning of an incomplete command
        self._memcached = {url.removeprefix("unix:") for url in memcached_addresses()}

    def sent(self, one: socket.socket, data: bytes) -> None:
        kind = self._kinds[id(one)] = self._kind_of(one, data)
        self.found.sent += 1
        self.found.trips += not self._waits
        self.found.by_server[kind] += kind not in self._kinds_that_wait
        self._waits = True
        self._kinds_that_wait.add(kind)

    def received(self, one: socket.socket) -> None:
        self._waits = False
        self._kinds_that_wait.discard(self._kinds.get(id(one), OTHER))

    def _kind_of(self, one: socket.socket, data: bytes) -> str:
        if _peer(one) in self._memcached:
            return MEMCACHED
        data = self._unread.pop(id(one), b"") + data
        if not data.startswith(b"*"):
            return OTHER
        commands, rest = commands_in(data)
        if rest:
            self._unread[id(one)] = rest
        if commands and all(_is_message(command) for command in commands):
            return BROKER
        self.found.commands.update(command[0].decode().upper() for command in commands)
        return REDIS


@contextmanager
def counted() -> Iterator[Trips]:
    """Count the requests of this process in the block to servers other than PostgreSQL."""
    watch = _Watch()

    def sending(call: Any, one: socket.socket, data: Any, *args: Any) -> Any:
        done = call(one, data, *args)
        whole = b"".join(map(bytes, data)) if call.__name__ == "sendmsg" else bytes(data)
        watch.sent(one, whole if done is None else whole[:done])
        return done

    def receiving(call: Any, one: socket.socket, *args: Any) -> Any:
        watch.received(one)
        return call(one, *args)

    with ExitStack() as stack:
        for names, way in ((SENDS, sending), (RECEIVES, receiving)):
            for name in names:
                stack.enter_context(_watched(name, way))
        yield watch.found


@contextmanager
def _watched(name: str, way: Callable[..., Any]) -> Iterator[None]:
    call = getattr(socket.socket, name)

    def watched(one: socket.socket, *args: Any) -> Any:
        return way(call, one, *args)

    with patch.object(socket.socket, name, watched):
        yield


def commands_in(data: bytes) -> tuple[list[Command], bytes]:
    """The complete commands in data sent to Redis, each with its arguments; and the start of the next one."""
    commands: list[Command] = []
    start = 0
    while start < len(data):
        try:
            count, at = _number(data, start, b"*")
            command: Command = []
            for _argument in range(count):
                length, at = _number(data, at, b"$")
                if at + length + 2 > len(data):
                    return commands, data[start:]
                command.append(data[at : at + length])
                at += length + 2
        except IndexError:
            return commands, data[start:]
        commands.append(command)
        start = at
    return commands, b""


def _number(data: bytes, at: int, mark: bytes) -> tuple[int, int]:
    """The number in a line that begins with a mark, and the start of the next line. IndexError if it is incomplete."""
    end = data.find(b"\r\n", at)
    if end < 0:
        raise IndexError
    if data[at : at + 1] != mark:
        raise ValueError(f"not a command of Redis: {data[at : at + 20]!r}")
    return int(data[at + 1 : end]), end + 2


def _is_message(command: Command) -> bool:
    """Whether a command puts a message into one of Celery's queues."""
    prefix = settings.CELERY_BROKER_TRANSPORT_OPTIONS["global_keyprefix"].encode()
    return command[0].upper() == b"LPUSH" and command[1].startswith(prefix)


def _peer(one: socket.socket) -> str:
    """The address of the other side, in the form of Memcached addresses."""
    peer: Any = one.getpeername()
    return f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else str(peer)


@contextmanager
def postgres_counted(place: Path) -> Iterator[Counter[str]]:
    """How many responses this thread's connection waited for, and how many of these answered the pool's checks.

    The counts are read at the end of the block from libpq's trace, which is written to a file.
    """
    found: Counter[str] = Counter()
    traced: list[Any] = []

    with place.open("wb") as file:

        def trace(**_signal: Any) -> None:
            driver = connection.connection.pgconn
            if driver not in traced:
                driver.trace(file.fileno())
                traced.append(driver)

        connection.close()  # the next request opens another one, or takes one from the pool
        connection_created.connect(trace)
        try:
            yield found
        finally:
            connection_created.disconnect(trace)
            for driver in traced:
                driver.untrace()  # also flushes its buffer
    written = place.read_bytes()
    found[POSTGRES], found[CHECKS] = written.count(READY), written.count(EMPTY)
