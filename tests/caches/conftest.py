import pytest

from apps.caches import breaker, generations
from tests.caches.pools import LABELS, Chosen, Pools, started


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
    monkeypatch.setattr(breaker, "LONGEST_PAUSE_SECONDS", 0.03)
    monkeypatch.setattr(generations._quiet, "until", 0.0)
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
