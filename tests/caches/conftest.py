import pytest

from apps.caches import breaker
from tests.caches.pools import LABELS, Chosen, Pools, started


@pytest.fixture(scope="module")
def servers():
    with started(LABELS) as running:
        if running is None:
            pytest.skip("no memcached on this machine")
        yield running


@pytest.fixture(params=[2, 3], ids=["two-layers", "three-layers"])
def pools(request, servers, monkeypatch):
    monkeypatch.setattr(breaker, "FIRST_PAUSE_SECONDS", 0.03)
    monkeypatch.setattr(breaker, "LONGEST_PAUSE_SECONDS", 0.03)
    made = Pools(servers, request.param)
    made.reset()
    yield made
    made.close()


@pytest.fixture
def three(servers, monkeypatch):
    """Three layers only, for what has no meaning in two."""
    monkeypatch.setattr(breaker, "FIRST_PAUSE_SECONDS", 0.03)
    monkeypatch.setattr(breaker, "LONGEST_PAUSE_SECONDS", 0.03)
    made = Pools(servers, 3)
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
