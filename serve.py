"""Starts the web or the streaming server: `python serve.py web --port 8000`. Used by ./run, containers and tests.

The listening socket is bound without SO_REUSEPORT, or inherited from the parent process (--fd). So two sites never
share a port, and with --fd the connections that the kernel has queued are not lost while a server restarts.
"""

import argparse
import asyncio
import os
import socket
from typing import Any, cast

from granian import _granian
from granian._signals import set_loop_signals
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.common import WORKERS_METHODS
from granian.server.mp import MPServer, WorkerProcess

core = cast("Any", _granian)  # its stubs do not match the module

HEADERS_MILLISECONDS = 10_000  # a client that takes longer, or is idle, is disconnected
CONNECTIONS = 8192  # per process; each slow client occupies one
STOP_SECONDS = 5
STACK_BYTES = 8 * 1024 * 1024  # for granian's threads, as for Python's own; by default a quarter
APPLICATIONS = {
    "web": ("feedsite.rsgi:application", Interfaces.RSGI),
    "streaming": ("feedsite.asgi:application", Interfaces.ASGI),
}


@WorkerProcess.wrap_target  # type: ignore[untyped-decorator]  # granian has no types for it
def web_worker(
    number: int, handler: Any, sock: Any, ipc: Any, loop: asyncio.AbstractEventLoop, *options: Any
) -> None:
    """A process of the web server: an RSGI worker whose threads call the handler directly, as in granian's WSGI worker.

    Granian's own RSGI worker starts an asyncio task for each request, and Django would need a thread besides
    (docs/decisions/0177). Apart from that this is `MPServer._spawn_rsgi_worker`.
    """
    mode, threads, blocking, _one, idle, backpressure, _task, *rest = options
    *http, static, _access_log, tls, _scope, metrics = rest
    handler.loop = loop
    scheduler = core.CallbackScheduler(loop, handler, None, None, None)
    scheduler._schedule_fn = handler  # noqa: SLF001 -- granian sets it to a function that starts a task
    worker = core.RSGIWorker(
        number, sock, ipc, threads, blocking, handler.threads, idle, backpressure, *http, static, *tls, metrics
    )  # fmt: skip
    is_stopped, signals = asyncio.Event(), set_loop_signals(loop)  # type: ignore[no-untyped-call]
    signals.add_cb(lambda: loop.call_soon_threadsafe(is_stopped.set))
    getattr(worker, WORKERS_METHODS[mode][False])(scheduler, loop, signals)
    loop.run_until_complete(is_stopped.wait())


class _Server(MPServer):
    """granian on a socket that is already listening."""

    def __init__(self, listening: socket.socket, **options: Any) -> None:
        host, port = listening.getsockname()[:2]
        super().__init__(address=host, port=port, **options)
        self._listening = listening

    def _init_shared_socket(self) -> None:
        number = self._listening.fileno()
        shared = core.SocketHolder(number, False, self.backlog)  # noqa: FBT003 -- whether it is a Unix socket
        vars(self).update(_ssp=None, _sso=self._listening, _sfd=number, _shd=shared)


def main() -> None:
    """Serve until a signal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=APPLICATIONS)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--fd", type=int, help="a listening socket, instead of --host and --port")
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    application, interface = APPLICATIONS[asked.what]
    os.environ.setdefault("RUST_MIN_STACK", str(STACK_BYTES))
    listening = (
        socket.socket(fileno=asked.fd) if asked.fd is not None else listen(asked.host, asked.port)
    )
    listening.setblocking(False)  # noqa: FBT003 -- socket's own signature
    listening.set_inheritable(True)
    server = _Server(
        listening,
        target=application,
        interface=interface,
        workers=asked.workers,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=HEADERS_MILLISECONDS),
        websockets=asked.what == "streaming",
        backlog=CONNECTIONS,
        backpressure=CONNECTIONS,
        respawn_failed_workers=True,
        workers_kill_timeout=STOP_SECONDS,
    )
    server.serve(spawn_target=web_worker if asked.what == "web" else None)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket with exclusive use of its port. OSError if the port is in use."""
    family, kind, protocol, _name, address = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # a port that only has closing connections counts as free
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.bind(address)
        listening.listen(CONNECTIONS)
    except OSError:
        listening.close()
        raise
    return listening


if __name__ == "__main__":
    main()
