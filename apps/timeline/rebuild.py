"""Rebuild a home window from PostgreSQL when its reader comes back, one builder at a time.

The building key is registered before the snapshot is read, every push goes to both keys, and one script joins and
swaps them: no reader sees half a window, and nothing published meanwhile is lost (source 001; measured in
docs/decisions/0005).
"""

import logging
import time

from django.db import DatabaseError

from apps.caches.servers import RedisError
from apps.paging import Cursor
from apps.timeline import pull
from apps.timeline.cache import HOME

logger = logging.getLogger(__name__)

WAIT_SECONDS = 0.5  # for another builder; then the page is served from SQL
POLL_SECONDS = 0.02


def rebuild_home(reader_id: int) -> bool:
    """Make sure that a reader has a window; False when it could not be had in time."""
    try:
        token = HOME.begin(reader_id)
        if token is None:
            return _wait_for_other(reader_id)
        ids = _snapshot(reader_id, token)
        # the sentinel takes one place, so a window that is full says nothing about the end
        return HOME.swap(reader_id, token, ids, complete=len(ids) < HOME.length)
    except RedisError as error:
        logger.warning("no home window for %s: %s", reader_id, error)
        return False


def _snapshot(reader_id: int, token: str) -> list[int]:
    try:
        return pull.home_ids(reader_id, Cursor(), HOME.length)
    except DatabaseError:
        HOME.abandon(reader_id, token)
        raise


def _wait_for_other(reader_id: int) -> bool:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        if HOME.exists(reader_id):
            return True
    return False
