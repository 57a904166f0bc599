"""Servers that are really dead for a while."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from feedcache.connections import reset_breakers
from runner.services.service import Service
from tests.support.memory import forget
from tests.support.processes import freeze
from tests.support.services import running

BREAKERS: list[Callable[[], None]] = [
    reset_breakers
]  # what closes them; the site's tests add its own


def close_breakers() -> None:
    """After servers were brought back: nobody avoids them any more."""
    for close in BREAKERS:
        close()


@contextmanager
def dead_redis() -> Iterator[None]:
    """Redis, and with it the broker, is stopped; afterwards it runs again, empty."""
    server = running().redis
    if server is None:
        pytest.skip("Redis was given from outside; it is not ours to stop")
    server.stop()
    try:
        yield
    finally:
        server.start()
        close_breakers()


@contextmanager
def dead_memcached() -> Iterator[None]:
    """Every Memcached is stopped; afterwards they run again, empty, and nobody avoids them."""
    servers = running().memcached
    if not servers:
        pytest.skip("no memcached on this machine")
    for server in servers:
        server.stop()
    try:
        yield
    finally:
        for server in servers:
            server.start()
        forget()


@contextmanager
def frozen(server: Service | None) -> Iterator[None]:
    """A server that holds its connections and does not answer."""
    if server is None:
        pytest.skip("the server was given from outside; it is not ours to freeze")
    assert server.child is not None
    freeze(server.child.pid)
    try:
        yield
    finally:
        server.child.popen.send_signal(signal.SIGCONT)
        close_breakers()


@contextmanager
def stopped(server: Service) -> Iterator[None]:
    """A server that is not there; afterwards it runs again."""
    server.stop()
    try:
        yield
    finally:
        server.start()
        close_breakers()
