"""The command lines of the site's own processes."""

import sys
from pathlib import Path

# More than the requests a process works on and lets wait (WEB_SEATS, WEB_QUEUE): one is always free to refuse the excess.
BLOCKING_THREADS = 32
QUEUES = "sweep,default,fanout,fanout_bulk"  # in this order


def web(*, host: str, port: int) -> list[str]:
    """The web server: one process with a few threads, HTTP only."""
    return [
        *_program("granian"), "--interface", "wsgi", "feedsite.wsgi:application", "--host", host, "--port", str(port),
        "--workers", "1", "--blocking-threads", str(BLOCKING_THREADS), "--no-ws", "--respawn-failed-workers",
        "--workers-kill-timeout", "5",
    ]  # fmt: skip


def streaming(*, host: str, port: int) -> list[str]:
    """The streaming server: one event loop, server-sent events and WebSockets."""
    return [
        *_program("granian"), "--interface", "asgi", "feedsite.streaming:application", "--host", host,
        "--port", str(port), "--workers", "1", "--respawn-failed-workers", "--workers-kill-timeout", "5",
        "--backlog", "8192",
    ]  # fmt: skip


def worker(*, concurrency: int) -> list[str]:
    """The Celery worker for all queues."""
    return [
        *_program("celery"), "-A", "feedsite", "worker", "-Q", QUEUES, "--pool", "prefork",
        "--concurrency", str(concurrency), "--without-gossip", "--without-mingle", "-l", "INFO",
    ]  # fmt: skip


def beat(*, schedule: Path) -> list[str]:
    """Celery's clock."""
    return [*_program("celery"), "-A", "feedsite", "beat", "-s", str(schedule), "-l", "INFO"]


def _program(name: str) -> list[str]:
    """A console script next to the running interpreter, by module: a shebang line may be too long to work."""
    return [sys.executable, "-P", "-m", name]
