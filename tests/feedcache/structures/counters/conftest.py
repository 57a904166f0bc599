import pytest

from tests.feedcache.structures.counters.rows import make_service, make_whole


@pytest.fixture
def lost():
    """A service whose store is empty and knows it."""
    return make_service()


@pytest.fixture
def service(lost):
    """A service whose store is whole."""
    return make_whole(lost)
