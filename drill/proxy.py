"""A proxy between clients and servers that can be told to misbehave: delay, lose, refuse, half open, reset.

One event loop in a thread of its own carries all links. Servers are TCP or Unix addresses; clients find a link on a
loopback port that stays the same whatever happens behind it.
"""

import asyncio
import contextlib
import socket
import struct
import threading
from collections import deque
from collections.abc import Coroutine
from enum import StrEnum
from types import TracebackType
from typing import Any, Self, TypeVar, cast

T = TypeVar("T")
BACKLOG = 512
CONTROL_SECONDS = 10.0
RESET = struct.pack("ii", 1, 0)  # of SO_LINGER: closing sends RST instead of FIN


class Mode(StrEnum):
    """What a link does with what it is given."""

    PASS = "pass"  # noqa: S105 -- no password
    DELAY = "delay"  # everything arrives, later
    HOLE = "hole"  # nothing arrives, and nobody is told
    HALF_OPEN = "half-open"  # requests arrive, answers do not
    CUT = "cut"  # connections are reset, new ones refused


class Proxy:
    """Links on one event loop. A context manager: `stop` ends the thread and all connections."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self.links: dict[str, Link] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def link(self, name: str, target: str) -> "Link":
        """Open a link to a server: `host:port`, or `unix:` and a path. The server need not be there yet."""
        link = Link(self, name, target)
        self.links[name] = link
        self.do(link.open())
        return link

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something on the loop from another thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CONTROL_SECONDS)

    def stop(self) -> None:
        """Close every link and end the thread."""
        for link in self.links.values():
            self.do(link.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CONTROL_SECONDS)
        self._loop.close()


class Link:
    """One address in front of one server."""

    def __init__(self, proxy: Proxy, name: str, target: str) -> None:
        self.name = name
        self.target = target
        self.mode = Mode.PASS
        self.seconds = 0.0
        self.port = 0
        self.lines: set[Line] = set()
        self._proxy = proxy
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        """Where clients connect: `127.0.0.1:port`."""
        return f"127.0.0.1:{self.port}"

    def set(self, mode: Mode, *, seconds: float = 0.0) -> None:
        """Misbehave from now on, or behave again; `seconds` is the delay in each direction. From any thread."""
        self._proxy.do(self._set(mode, seconds))

    def reset(self) -> None:
        """Break the connections there are; new ones work. From any thread."""
        self._proxy.do(self._reset())

    async def open(self) -> None:
        """Listen, on the port of before if there was one."""
        loop = asyncio.get_running_loop()
        made = await loop.create_server(
            lambda: _Side(Line(self), is_client=True), "127.0.0.1", self.port, backlog=BACKLOG
        )
        self._server, self.port = made, made.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and break all connections."""
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._reset()

    async def _set(self, mode: Mode, seconds: float) -> None:
        before, self.mode, self.seconds = self.mode, mode, seconds
        if mode is Mode.CUT:
            await self.close()
        elif self._server is None:
            await self.open()
        if mode is Mode.PASS and before in (Mode.HOLE, Mode.HALF_OPEN):
            for line in [line for line in self.lines if line.lost_some]:
                line.cut()  # what was swallowed is missing: such a connection cannot go on

    async def _reset(self) -> None:
        for line in list(self.lines):
            line.cut()

    async def reach(self, line: "Line") -> "_Side | None":
        """Connect to the server; None when it is not there."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            if self.target.startswith("unix:"):
                path = self.target.removeprefix("unix:")
                _, side = await loop.create_unix_connection(
                    lambda: _Side(line, is_client=False), path
                )
                return side
            host, _, port = self.target.rpartition(":")
            _, side = await loop.create_connection(
                lambda: _Side(line, is_client=False), host, int(port)
            )
            return side
        return None


class Line:
    """One connection through a link: two sides, and what is on its way between them."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.client: _Side | None = None
        self.server: _Side | None = None
        self.lost_some = False
        self._task: asyncio.Task[None] | None = None
        self._early: list[bytes] = []  # came before the server was reached
        self._waiting: dict[bool, deque[tuple[float, bytes]]] = {True: deque(), False: deque()}

    def begin(self, client: "_Side") -> None:
        """A client has come."""
        self.client = client
        self.link.lines.add(self)
        self._task = asyncio.ensure_future(self._reach())

    async def _reach(self) -> None:
        self.server = await self.link.reach(self)
        if self.server is None:
            self.cut()
            return
        for data in self._early:
            self.server.send(data)

    def carry(self, data: bytes, *, from_client: bool) -> None:
        """Bring data to the other side, in the manner of the link's mode."""
        mode = self.link.mode
        if mode is Mode.HOLE or (mode is Mode.HALF_OPEN and not from_client):
            self.lost_some = True
            return
        waiting = self._waiting[from_client]
        if not waiting and mode is not Mode.DELAY:
            self._deliver(data, from_client=from_client)
            return
        loop = asyncio.get_running_loop()
        due = max(loop.time() + self.link.seconds, waiting[-1][0] if waiting else 0.0)
        waiting.append((due, data))
        if len(waiting) == 1:
            loop.call_at(due, self._deliver_due, from_client)

    def _deliver_due(self, from_client: bool) -> None:  # noqa: FBT001 -- a callback of the loop
        waiting = self._waiting[from_client]
        loop = asyncio.get_running_loop()
        while waiting and waiting[0][0] <= loop.time():
            self._deliver(waiting.popleft()[1], from_client=from_client)
        if waiting:
            loop.call_at(waiting[0][0], self._deliver_due, from_client)

    def _deliver(self, data: bytes, *, from_client: bool) -> None:
        if from_client and self.server is None:
            self._early.append(data)
            return
        other = self.server if from_client else self.client
        if other is not None:
            other.send(data)

    def ended(self, *, from_client: bool) -> None:
        """One side has closed; so does the other."""
        self.link.lines.discard(self)
        other = self.server if from_client else self.client
        if other is not None:
            other.close()

    def cut(self) -> None:
        """Reset both sides."""
        self.link.lines.discard(self)
        for waiting in self._waiting.values():
            waiting.clear()
        for side in (self.client, self.server):
            if side is not None:
                side.reset()


class _Side(asyncio.Protocol):
    """One end of a connection."""

    def __init__(self, line: Line, *, is_client: bool) -> None:
        self._line = line
        self._is_client = is_client
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if self._is_client:
            found = transport.get_extra_info("socket")
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._line.begin(self)

    def data_received(self, data: bytes) -> None:
        self._line.carry(data, from_client=self._is_client)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._line.ended(from_client=self._is_client)

    def send(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def reset(self) -> None:
        if self._transport is not None:
            with contextlib.suppress(OSError):
                found = self._transport.get_extra_info("socket")
                found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self._transport.abort()
