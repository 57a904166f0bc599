"""Web servers on this machine, each granian with one process: our site as `./run` starts it, its rivals as WSGI."""

import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path

from runner import programs
from runner.checkout import ROOT
from runner.processes import Child, spawn, wait_until

BLOCKING_THREADS = 32  # of the rivals
START_SECONDS, STOP_SECONDS, FETCH_SECONDS = 60, 10, 30


@dataclass(frozen=True, slots=True)
class Web:
    port: int
    child: Child


@contextmanager
def web(name: str, application: str | None, directory: Path, **environment: str) -> Iterator[Web]:
    """A server of a WSGI application, or of our site, on a free port; it runs until the end of the block."""
    port = free_port()
    command = [
        sys.executable, "-P", "-m", "granian", "--interface", "wsgi", application, "--host", "127.0.0.1",
        "--port", str(port), "--workers", "1", "--no-ws", "--http", "1", "--blocking-threads", str(BLOCKING_THREADS),
    ] if application else programs.web(port=port)  # fmt: skip
    child = spawn(
        name, command, log=directory / f"{name}.log", environment=child_environment(environment)
    )
    try:
        wait_until(lambda: _answers(port), child, seconds=START_SECONDS)
        yield Web(port, child)
    finally:
        child.stop(STOP_SECONDS)


def fetch(port: int, path: str, header: tuple[str, str]) -> bytes:
    """The body of one response; RuntimeError if it is an error."""
    connection = HTTPConnection("127.0.0.1", port, timeout=FETCH_SECONDS)
    connection.request("GET", path, headers=dict([header, ("Host", "localhost")]))
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != HTTPStatus.OK:
        raise RuntimeError(f"{path} returns {answer.status}: {body[:200]!r}")
    return body


def child_environment(more: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process of our site, with further settings."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "CACHE_TOPOLOGY_LISTENS": "1", **more}


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        time.sleep(0.05)
        return False


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port
