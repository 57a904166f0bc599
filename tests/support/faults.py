"""Stops or freezes real servers for a while."""

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
]  # the functions that close circuit breakers; the site's tests add one


def close_breakers() -> None:
    """Close all circuit breakers, once the servers are back."""
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
    """Every Memcached is stopped; afterwards they run again, empty, and new clients use them at once."""
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
    """The server keeps its connections but does not answer."""
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
    """The server is stopped; afterwards it runs again."""
    server.stop()
    try:
        yield
    finally:
        server.start()
        close_breakers()
