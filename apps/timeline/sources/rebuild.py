"""Rebuild a returning reader's home cache and inbox from PostgreSQL, each by one builder at a time.

The building key is registered before the snapshot is read, every push goes to both keys, and one script joins and
swaps them: no reader sees half a window, and nothing published meanwhile is lost (source 001; measured in
docs/decisions/0005).
"""

import logging
import time
from collections.abc import Callable

from django.db import DatabaseError

from apps.paging import Cursor
from apps.timeline.sources import outbox, sql
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.redis_servers.connections import RedisError
from feedcache.structures.home_window import HomeWindows

logger = logging.getLogger(__name__)

WAIT_SECONDS = 0.5  # for another builder; then PostgreSQL serves the page
POLL_SECONDS = 0.02


def rebuild_home(reader_id: int) -> bool:
    """Ensure that a reader has a home window; False when Redis fails, or another builder takes too long."""
    return _rebuild(HOME, reader_id, _open_snapshot)


def rebuild_inbox(reader_id: int) -> bool:
    """Ensure that a reader has an inbox; False as for `rebuild_home`."""
    return _rebuild(INBOX, reader_id, _restricted_snapshot)


def _open_snapshot(reader_id: int) -> list[int]:
    return outbox.newest_ids_of_followees(reader_id, HOME.length)


def _restricted_snapshot(reader_id: int) -> list[int]:
    return sql.restricted_home_ids(reader_id, Cursor(), INBOX.length)


def _rebuild(windows: HomeWindows, reader_id: int, snapshot: Callable[[int], list[int]]) -> bool:
    try:
        token = windows.begin(reader_id)
        if token is None:
            return _wait_for_other(windows, reader_id)
        try:
            ids = snapshot(reader_id)
        except DatabaseError:
            windows.abandon(reader_id, token)
            raise
        # the sentinel takes one place, so a full window does not reach the end of the timeline
        return windows.swap(reader_id, token, ids, complete=len(ids) < windows.length)
    except RedisError as error:
        logger.warning("no window %s for %s: %s", windows.prefix, reader_id, error)
        return False


def _wait_for_other(windows: HomeWindows, reader_id: int) -> bool:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        if windows.exists(reader_id):
            return True
    return False
