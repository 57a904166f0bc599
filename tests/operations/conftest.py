"""Memcached nodes of a test's own, and the topology of the tests' own servers."""

from contextlib import ExitStack

import pytest

from feedcache.connections import configured_topology
from runner.services.debian import find_memcached
from runner.services.memcached import Memcached
from tests.support.services import running


@pytest.fixture
def spare(tmp_path_factory):
    """`spare()`: one more Memcached that runs until the test ends."""
    if not running().memcached:
        pytest.skip("no memcached on this machine")
    sockets = running().memcached[0].socket.parent
    program = find_memcached(sockets / "memcached")
    assert program is not None
    with ExitStack() as stack:
        made: list[Memcached] = []

        def one(megabytes=16):
            label = f"spare-{len(made)}"
            node = Memcached(program, label, sockets, sockets, megabytes=megabytes)
            node.start()
            stack.callback(node.stop)
            made.append(node)
            return node

        yield one


@pytest.fixture
def settled():
    """What the settings of the tests say: Main x 2, Backup x 1."""
    topology = configured_topology()
    if not topology.main:
        pytest.skip("no memcached on this machine")
    return topology
