"""Command lines of the site's processes."""

import sys
from pathlib import Path

# a script that sets the options of the web and the streaming server, also in containers
SERVE = Path(__file__).resolve().parent.parent / "serve.py"
PRELOAD = "feedsite.server.preload"  # imports the modules that all processes need
QUEUES = "sweep,default,fanout,fanout_bulk,media"  # in order of priority


def web(*, host: str = "127.0.0.1", port: int = 0, socket: int | None = None) -> list[str]:
    """The web server: one process with threads, on a listening socket or an address."""
    return _server("web", host, port, socket)


def streaming(*, host: str = "127.0.0.1", port: int = 0, socket: int | None = None) -> list[str]:
    return _server("streaming", host, port, socket)


def worker(*, concurrency: int) -> list[str]:
    return [
        *_program("celery"), "-A", "feedsite", "worker", "-Q", QUEUES, "--pool", "prefork",
        "--concurrency", str(concurrency), "--without-gossip", "--without-mingle", "-l", "INFO",
    ]  # fmt: skip


def beat(*, schedule: Path) -> list[str]:
    return [*_program("celery"), "-A", "feedsite", "beat", "-s", str(schedule), "-l", "INFO"]


def _server(name: str, host: str, port: int, socket: int | None) -> list[str]:
    address = ["--host", host, "--port", str(port)] if socket is None else ["--fd", str(socket)]
    return [sys.executable, "-P", str(SERVE), name, *address]


def _program(name: str) -> list[str]:
    """The command to run a console script as a module: its shebang line may be too long."""
    return [sys.executable, "-P", "-m", name]
