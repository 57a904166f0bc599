"""Readers of a delivery."""

import pytest

from apps.pagination import Cursor
from apps.timeline.home import home_timeline
from tests.support.factories import make_follow, make_user


@pytest.fixture
def readers(alice, settings):
    """Ten followers of alice, the first six of them online; chunks of three."""
    settings.FANOUT_CHUNK_SIZE = 3
    readers = [make_user() for _ in range(10)]
    for number, reader in enumerate(readers):
        make_follow(reader, alice)
        if number < 6:
            home_timeline(reader, Cursor())
    return readers
