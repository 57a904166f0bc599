"""The command lines of the site's own processes."""

import sys
from pathlib import Path

SERVE = (
    Path(__file__).resolve().parent.parent / "serve.py"
)  # has the options of both servers, here and in containers
QUEUES = "sweep,default,fanout,fanout_bulk"  # in this order


def web(*, host: str = "127.0.0.1", port: int = 0, socket: int | None = None) -> list[str]:
    """The web server: one process with a few threads, HTTP only; on a socket that listens, or on an address."""
    return _server("web", host, port, socket)


def streaming(*, host: str = "127.0.0.1", port: int = 0, socket: int | None = None) -> list[str]:
    """The streaming server: one event loop, server-sent events and WebSockets."""
    return _server("streaming", host, port, socket)


def worker(*, concurrency: int) -> list[str]:
    """The Celery worker for all queues."""
    return [
        *_program("celery"), "-A", "feedsite", "worker", "-Q", QUEUES, "--pool", "prefork",
        "--concurrency", str(concurrency), "--without-gossip", "--without-mingle", "-l", "INFO",
    ]  # fmt: skip


def beat(*, schedule: Path) -> list[str]:
    """Celery's clock."""
    return [*_program("celery"), "-A", "feedsite", "beat", "-s", str(schedule), "-l", "INFO"]


def _server(what: str, host: str, port: int, socket: int | None) -> list[str]:
    where = ["--host", host, "--port", str(port)] if socket is None else ["--fd", str(socket)]
    return [sys.executable, "-P", str(SERVE), what, *where]


def _program(name: str) -> list[str]:
    """A console script next to the running interpreter, by module: a shebang line may be too long to work."""
    return [sys.executable, "-P", "-m", name]
