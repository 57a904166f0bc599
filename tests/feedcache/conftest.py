"""Servers that some of the tests of the caches need beside the common one."""

import pytest

from feedcache import breaker, memcached_node
from tests.feedcache.pools import LABELS, Chosen, Pools, started
from tests.feedcache.servers_of_both_kinds import own, use, valkey


@pytest.fixture(scope="session")
def other_server(tmp_path_factory):
    with valkey(tmp_path_factory.mktemp("valkey")) as client:
        yield client


@pytest.fixture(params=["redis", pytest.param("valkey", marks=pytest.mark.clusters)])
def server(request, monkeypatch):
    """Each of the two servers, empty."""
    if request.param == "redis":
        return own()
    client = use(monkeypatch, request.getfixturevalue("other_server"))
    client.flushdb()
    return client


@pytest.fixture(scope="module")
def servers():
    with started(LABELS) as running:
        if running is None:
            pytest.skip("no memcached on this machine")
        yield running


@pytest.fixture(params=[2, 3], ids=["two-layers", "three-layers"])
def pools(request, servers, monkeypatch):
    yield from _pools(servers, request.param, monkeypatch)


@pytest.fixture
def three(servers, monkeypatch):
    """Three layers only, for what has no meaning in two."""
    yield from _pools(servers, 3, monkeypatch)


def _pools(servers, layers, monkeypatch):
    monkeypatch.setattr(breaker, "FIRST_PAUSE_SECONDS", 0.03)
    monkeypatch.setattr(breaker, "MAX_PAUSE_SECONDS", 0.03)
    monkeypatch.setattr(memcached_node._pause, "until", 0.0)
    made = Pools(servers, layers)
    made.reset()
    yield made
    made.close()


@pytest.fixture
def cache(pools):
    found = pools.client()
    assert found.ping()
    return found


@pytest.fixture
def chosen(monkeypatch):
    return Chosen(monkeypatch)
