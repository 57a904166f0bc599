"""Servers that are really dead for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.memory import forget
from tests.services import running


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
