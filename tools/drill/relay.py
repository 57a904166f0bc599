"""Transfers the bytes of all links, in a separate process with one event loop, which client threads cannot slow down.

`main` receives orders (`Order`) from a connection and replies to each; it ends with that connection.
"""

import asyncio
import contextlib
import ctypes
import socket
import struct
import sys
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing.connection import Connection
from typing import cast

BACKLOG = 512
RESET = struct.pack("ii", 1, 0)  # for SO_LINGER: closing sends RST instead of FIN
GONE_SECONDS = (
    10.0  # until servers notice that a client has vanished, as they would with TCP's keepalives
)
SO_ATTACH_FILTER = 26  # Linux; Python does not name it
_DROP_ALL = ctypes.create_string_buffer(
    struct.pack("HBBI", 6, 0, 0, 0)
)  # a packet filter (BPF) of one instruction, `return 0`: accept no byte of any packet


class Mode(StrEnum):
    PASS = "pass"  # noqa: S105 -- no password
    DELAY = "delay"  # everything arrives, later
    NARROW = "narrow"  # everything arrives, but only so many bytes per second in each direction
    HOLE = "hole"  # nothing arrives, and no side notices
    HALF_OPEN = "half-open"  # requests arrive, responses do not
    CUT = "cut"  # connections are reset, new ones refused


class Route:
    def __init__(self, target: str) -> None:
        self.target = target
        self.mode = Mode.PASS
        self.seconds = 0.0
        self.bytes_per_second = 0.0
        self.port = 0
        self.lines: set[Line] = set()
        # when a narrow link has transferred everything so far, from the client and from the server
        self._free_at = {True: 0.0, False: 0.0}
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen, on the previous port if there was one."""
        loop = asyncio.get_running_loop()
        made = await loop.create_server(
            lambda: _Side(Line(self), is_client=True), "127.0.0.1", self.port, backlog=BACKLOG
        )
        self._server, self.port = made, made.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        self.reset()

    async def set(self, order: "Behave") -> None:
        """Misbehave from now on, or behave normally again."""
        mode = order.mode
        before, self.mode = self.mode, mode
        self.seconds, self.bytes_per_second = order.seconds, order.bytes_per_second
        if mode is Mode.CUT:
            await self.close()
        elif self._server is None:
            await self.open()
        if mode is Mode.PASS and before in (Mode.HOLE, Mode.HALF_OPEN):
            for line in [line for line in self.lines if line.lost_some]:
                line.cut()  # data was swallowed, so the connection cannot continue

    def reset(self) -> None:
        """Break the current connections; new ones work."""
        for line in list(self.lines):
            line.cut()

    def vanish(self) -> None:
        """Stop serving the current connections without closing them; new ones work."""
        for line in self.lines:
            line.vanish()
        self.lines.clear()

    def due(self, size: int, *, from_client: bool) -> float:
        """When data that has just arrived is to be passed on, by the loop's clock."""
        now = asyncio.get_running_loop().time()
        if self.mode is Mode.NARROW:
            begin = max(now, self._free_at[from_client])
            self._free_at[from_client] = begin + size / self.bytes_per_second
            return self._free_at[from_client]
        return now + (self.seconds if self.mode is Mode.DELAY else 0.0)

    async def reach(self, line: "Line") -> "_Side | None":
        """Connect to the server; None if it is not running."""
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
    """One connection along a route: two sides, and the data on its way between them."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self.client: _Side | None = None
        self.server: _Side | None = None
        self.lost_some = False
        self._has_vanished = False
        self._task: asyncio.Task[None] | None = None
        self._early: list[bytes] = []  # arrived before the server was connected
        self._waiting: dict[bool, deque[tuple[float, bytes]]] = {True: deque(), False: deque()}

    def begin(self, client: "_Side") -> None:
        self.client = client
        self.route.lines.add(self)
        self._task = asyncio.ensure_future(self._reach())

    async def _reach(self) -> None:
        self.server = await self.route.reach(self)
        if self.server is None and not self._has_vanished:
            self.cut()
        if self.server is None:
            return
        for data in self._early:
            self.server.send(data)

    def carry(self, data: bytes, *, from_client: bool) -> None:
        """Transfer data to the other side, according to the route's mode."""
        mode = self.route.mode
        if self._has_vanished:
            return
        if mode is Mode.HOLE or (mode is Mode.HALF_OPEN and not from_client):
            self.lost_some = True
            return
        waiting = self._waiting[from_client]
        if not waiting and mode not in (Mode.DELAY, Mode.NARROW):
            self._deliver(data, from_client=from_client)
            return
        loop = asyncio.get_running_loop()
        due = self.route.due(len(data), from_client=from_client)
        due = max(due, waiting[-1][0] if waiting else 0.0)
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
        """One side has closed, so close the other."""
        if self._has_vanished:
            return
        self.route.lines.discard(self)
        other = self.server if from_client else self.client
        if other is not None:
            other.close()

    def vanish(self) -> None:
        """Neither side hears anything from now on. The server closes its side later, unnoticed by the client."""
        self._has_vanished = True
        for waiting in self._waiting.values():
            waiting.clear()
        if self.client is not None:
            self.client.stop_listening()
        if self.server is not None:
            asyncio.get_running_loop().call_later(GONE_SECONDS, self.server.close)

    def cut(self) -> None:
        self.route.lines.discard(self)
        for waiting in self._waiting.values():
            waiting.clear()
        for side in (self.client, self.server):
            if side is not None:
                side.reset()


class _Side(asyncio.Protocol):
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

    def stop_listening(self) -> None:
        """Drop all packets of the peer before the kernel acknowledges them, as if this machine had no power."""
        if self._transport is not None and sys.platform == "linux":
            program = struct.pack("HL", 1, ctypes.addressof(_DROP_ALL))
            found = self._transport.get_extra_info("socket")
            found.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)

    def reset(self) -> None:
        if self._transport is not None:
            with contextlib.suppress(OSError):
                found = self._transport.get_extra_info("socket")
                found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self._transport.abort()


@dataclass(frozen=True, slots=True)
class Open:
    """Order: transfer connections to a server from now on. The reply is the port for clients."""

    name: str
    target: str


@dataclass(frozen=True, slots=True)
class Behave:
    """Order: set a link's mode, with its delay in seconds or its width, each for one direction."""

    name: str
    mode: Mode
    seconds: float = 0.0
    bytes_per_second: float = 0.0


@dataclass(frozen=True, slots=True)
class Reset:
    """Order: break the connections of a link."""

    name: str


@dataclass(frozen=True, slots=True)
class Vanish:
    """Order: stop serving the connections of a link without closing them."""

    name: str


Order = Open | Behave | Reset | Vanish


class _Relay:
    def __init__(self) -> None:
        self._routes: dict[str, Route] = {}

    async def carry_out(self, order: Order) -> int:
        """Carry out an order. Returns the port of the route."""
        if isinstance(order, Open):
            route = self._routes[order.name] = Route(order.target)
            await route.open()
            return route.port
        route = self._routes[order.name]
        if isinstance(order, Behave):
            await route.set(order)
        elif isinstance(order, Vanish):
            route.vanish()
        else:
            route.reset()
        return route.port

    async def close(self) -> None:
        for route in self._routes.values():
            await route.close()


async def _serve(orders: Connection) -> None:
    relay, loop = _Relay(), asyncio.get_running_loop()
    ended = loop.create_future()
    waiting: set[asyncio.Task[None]] = set()  # the loop itself keeps only weak references

    async def answer(order: Order) -> None:
        try:
            answered: int | Exception = await relay.carry_out(order)
        except Exception as error:  # noqa: BLE001 -- reported to the sender of the order
            answered = error
        orders.send(answered)

    def take() -> None:
        try:
            order = orders.recv()
        except (EOFError, ConnectionResetError):
            loop.remove_reader(orders.fileno())
            ended.set_result(None)
            return
        task = loop.create_task(answer(order))
        waiting.add(task)
        task.add_done_callback(waiting.discard)

    loop.add_reader(orders.fileno(), take)
    await ended
    await relay.close()


def main(descriptor: int) -> None:
    with Connection(descriptor) as orders:
        asyncio.run(_serve(orders))
