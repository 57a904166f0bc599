"""A proxy between clients and servers that misbehaves on command: delay, loss, refusal, half-open connections, resets,
narrow links, peers that vanish.

Servers are TCP or Unix addresses; clients connect to a link on a loopback port that never changes, whatever happens
behind it. A separate process transfers the bytes (`tools.drill.relay`); this module sends it orders.
"""

import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self

from runner.checkout import ROOT
from tools.drill.relay import Behave, Mode, Open, Order, Reset, Vanish

CONTROL_SECONDS = 10.0
# Not `-m tools.drill.relay`, which would name the module `__main__` there: pickled orders name it `tools.drill.relay`.
RELAY = "import sys; from tools.drill.relay import main; main(int(sys.argv[1]))"


class Proxy:
    """Links through one relay. A context manager: `stop` ends its process and all connections."""

    def __init__(self) -> None:
        self.links: dict[str, Link] = {}
        self._turn = threading.Lock()
        self._orders: Connection | None = None
        self._relay: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        ours, theirs = socket.socketpair()
        with theirs:
            self._relay = subprocess.Popen(  # noqa: S603 -- our own module
                [sys.executable, "-P", "-c", RELAY, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd=ROOT,
                env={"PYTHONPATH": str(ROOT)},
                start_new_session=True,  # Ctrl-C must first end the drill, which needs its links
            )
        self._orders = Connection(ours.detach())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def link(self, name: str, target: str) -> "Link":
        """Open a link to a server: `host:port`, or `unix:` and a path. The server need not be running yet."""
        link = self.links[name] = Link(self, name, self.order(Open(name, target)))
        return link

    def order(self, order: Order) -> int:
        """Send an order, from any thread. Returns the port of the link; OSError if it fails or there is no response."""
        if self._orders is None:
            raise OSError("the proxy is not running")
        with self._turn:
            self._orders.send(order)
            if not self._orders.poll(CONTROL_SECONDS):
                raise TimeoutError(f"no response from the relay to {order}")
            answer: int | Exception = self._orders.recv()
        if isinstance(answer, Exception):
            raise OSError(f"{order}: {answer}") from answer
        return answer

    def stop(self) -> None:
        if self._orders is not None:
            self._orders.close()
            self._orders = None
        if self._relay is not None:
            try:
                self._relay.wait(CONTROL_SECONDS)
            except subprocess.TimeoutExpired:
                self._relay.kill()
                self._relay.wait()
            self._relay = None


class Link:
    def __init__(self, proxy: Proxy, name: str, port: int) -> None:
        self.name = name
        self.port = port
        self._proxy = proxy

    @property
    def address(self) -> str:
        """The address for clients: `127.0.0.1:port`."""
        return f"127.0.0.1:{self.port}"

    def set(self, mode: Mode, *, seconds: float = 0.0, bytes_per_second: float = 0.0) -> None:
        """Misbehave from now on, or behave normally again; the delay or the width is that of one direction.

        From any thread.
        """
        self._proxy.order(Behave(self.name, mode, seconds, bytes_per_second))

    def vanish(self) -> None:
        """Stop serving the current connections, without closing them; new ones work. From any thread."""
        self._proxy.order(Vanish(self.name))

    def reset(self) -> None:
        """Break the current connections; new ones work. From any thread."""
        self._proxy.order(Reset(self.name))
