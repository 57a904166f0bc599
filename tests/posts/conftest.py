import pytest

from feedcache.memcached_tiers import tiers
from tests.support.memory import flush


@pytest.fixture(autouse=True)
def _empty_memcached():
    if tiers().ping():
        flush()
        tiers().ping()  # knows that it is empty


@pytest.fixture(autouse=True)
def _media(media):
    """All of them store pictures."""
