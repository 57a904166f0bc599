"""The home caches in Redis: two windows of newest ids for each reader who is online, and their rebuilding.

A window belongs to one reader, and every read checks the posts in it. The windows of a returning reader are rebuilt,
each by one builder at a time. Before the builder reads its snapshot, it registers a second key; pushes are then written
to both keys, until a script adds the snapshot to the second key, which replaces the first. So no reader sees half a
window, and no post that is published in the meantime is lost (source 001; measured in docs/decisions/0005).
"""

import logging
import time
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError

from apps.pagination import Cursor
from apps.timeline import policy
from apps.timeline.sources import older, outbox, sql
from feedcache.connections import RedisError
from feedcache.servers.topology_listener import epoch_suffix
from feedcache.structures.home_window import HomeWindows

logger = logging.getLogger(__name__)

WAIT_SECONDS = 0.5  # the wait for another builder, after which PostgreSQL serves the page
POLL_SECONDS = 0.02

# Public and unlisted posts of followees (virtual ones included), and the reader's own.
HOME = HomeWindows(
    "home:2",
    length=settings.HOME_WINDOW_LENGTH,
    ttl_seconds=settings.HOME_WINDOW_TTL_SECONDS,
    generation=policy.generation,
    epoch=epoch_suffix,
)

# Restricted posts addressed to the reader, and the reader's own. They are always pushed, whatever the delivery policy
# of their authors, and never in a list that others read (source 002: the inbox, in addition to the outboxes).
INBOX = HomeWindows(
    "inbox:2",
    length=settings.INBOX_WINDOW_LENGTH,
    ttl_seconds=settings.HOME_WINDOW_TTL_SECONDS,
    epoch=epoch_suffix,
)


def rebuild_home(reader_id: int) -> bool:
    """Ensure that a reader has a home window. Returns False if Redis fails, or no window could be built in time."""
    return rebuild(HOME, reader_id, _open_snapshot)


def rebuild_inbox(reader_id: int) -> bool:
    """Ensure that a reader has an inbox. Returns False in the same cases as `rebuild_home`."""
    return rebuild(INBOX, reader_id, _restricted_snapshot)


def _open_snapshot(reader_id: int) -> list[int]:
    """The newest ids: from the timeline stored by an optional app if it is long enough, otherwise from the outboxes."""
    ids = older.newest_home_ids(reader_id, HOME.length)
    if ids is not None:
        return ids
    return outbox.newest_ids_of_followees(reader_id, HOME.length)


def _restricted_snapshot(reader_id: int) -> list[int]:
    return sql.restricted_home_ids(reader_id, Cursor(), INBOX.length)


def rebuild(windows: HomeWindows, reader_id: int, snapshot: Callable[[int], list[int]]) -> bool:
    """Ensure that a window exists. Returns False in the same cases as `rebuild_home`."""
    try:
        token = windows.begin(reader_id)
        if token is None:
            return _wait_for_other(windows, reader_id)
        # if a window exists, another builder has just finished
        if windows.read(reader_id, newest=None, oldest=0, count=1):
            windows.abandon(reader_id, token)
            return True
        try:
            ids = snapshot(reader_id)
        except DatabaseError:
            windows.abandon(reader_id, token)
            raise
        # the sentinel (NoMore) takes one place, so a window of `length` ids has no room for it
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
