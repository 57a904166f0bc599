"""Transfers the bytes of all links, in a separate process with one event loop, which client threads cannot slow down.

`main` receives orders (`Order`) from a connection and replies to each; it ends with that connection.
"""

import asyncio
import contextlib
import socket
import struct
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing.connection import Connection
from typing import cast

BACKLOG = 512
RESET = struct.pack("ii", 1, 0)  # for SO_LINGER: closing sends RST instead of FIN


class Mode(StrEnum):
    PASS = "pass"  # noqa: S105 -- no password
    DELAY = "delay"  # everything arrives, later
    HOLE = "hole"  # nothing arrives, and no side notices
    HALF_OPEN = "half-open"  # requests arrive, responses do not
    CUT = "cut"  # connections are reset, new ones refused


class Route:
    def __init__(self, target: str) -> None:
        self.target = target
        self.mode = Mode.PASS
        self.seconds = 0.0
        self.port = 0
        self.lines: set[Line] = set()
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

    async def set(self, mode: Mode, seconds: float) -> None:
        """Misbehave from now on, or behave normally again; `seconds` is the delay in each direction."""
        before, self.mode, self.seconds = self.mode, mode, seconds
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
        self._task: asyncio.Task[None] | None = None
        self._early: list[bytes] = []  # arrived before the server was connected
        self._waiting: dict[bool, deque[tuple[float, bytes]]] = {True: deque(), False: deque()}

    def begin(self, client: "_Side") -> None:
        self.client = client
        self.route.lines.add(self)
        self._task = asyncio.ensure_future(self._reach())

    async def _reach(self) -> None:
        self.server = await self.route.reach(self)
        if self.server is None:
            self.cut()
            return
        for data in self._early:
            self.server.send(data)

    def carry(self, data: bytes, *, from_client: bool) -> None:
        """Transfer data to the other side, according to the route's mode."""
        mode = self.route.mode
        if mode is Mode.HOLE or (mode is Mode.HALF_OPEN and not from_client):
            self.lost_some = True
            return
        waiting = self._waiting[from_client]
        if not waiting and mode is not Mode.DELAY:
            self._deliver(data, from_client=from_client)
            return
        loop = asyncio.get_running_loop()
        due = max(loop.time() + self.route.seconds, waiting[-1][0] if waiting else 0.0)
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
        self.route.lines.discard(self)
        other = self.server if from_client else self.client
        if other is not None:
            other.close()

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
    """Order: set a link's mode, and the delay in each direction in seconds."""

    name: str
    mode: Mode
    seconds: float


@dataclass(frozen=True, slots=True)
class Reset:
    """Order: break the connections of a link."""

    name: str


Order = Open | Behave | Reset


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
            await route.set(order.mode, order.seconds)
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
