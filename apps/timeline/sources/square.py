"""The message square in Redis (source 003), a window of the newest public posts that all readers share.

It is built (by one builder at a time), pushed to and read like a home window, and every read checks the posts in it.
Posts below it are read from PostgreSQL; while Redis is down, all posts are.
"""

import logging

from django.conf import settings

from apps import replicas
from apps.pagination import Cursor
from apps.posts.models import Kind, Post, Visibility
from apps.timeline.sources import sql
from apps.timeline.sources.home_cache import rebuild
from feedcache.structures.home_window import HomeWindows, WindowRange

logger = logging.getLogger(__name__)

SQUARE = HomeWindows(
    "square:2", length=settings.HOME_WINDOW_LENGTH, ttl_seconds=settings.HOME_WINDOW_TTL_SECONDS
)
EVERYBODY = 0  # the reader id of the only window of this kind


def ids(reader_id: int | None, cursor: Cursor, count: int) -> list[int]:
    """Up to `count` ids of all public posts without reposts, inside the cursor's bounds and in its order."""
    window = _read(cursor, count)
    if window is None and rebuild(SQUARE, EVERYBODY, _snapshot):
        window = _read(cursor, count)
    if window is None or (cursor.ascending and not window.complete):
        return stored_ids(reader_id, cursor, count)
    if window.complete or len(window.ids) >= count:
        return window.ids
    below = cursor.beyond(window.ids[-1]) if window.ids else cursor
    return window.ids + stored_ids(reader_id, below, count - len(window.ids))


def stored_ids(
    reader_id: int | None, cursor: Cursor, count: int, *, only_media: bool = False
) -> list[int]:
    """Like `ids`, but from PostgreSQL, perhaps from a replica. `only_media`: only posts with media."""
    return replicas.read(
        reader_id, lambda db: sql.public_ids(cursor, count, only_media=only_media, database=db)
    )


def push(post: Post) -> None:
    """Add a committed post, if it belongs in the square. Raises RedisError."""
    if belongs(post):
        SQUARE.push([EVERYBODY], [post.pk], news=False)


def belongs(post: Post) -> bool:
    return post.visibility == Visibility.PUBLIC and post.kind != Kind.REPOST


def repair() -> None:
    """Add posts that the window lacks, for example because a failover of Redis lost a push. Raises RedisError."""
    window = SQUARE.whole(EVERYBODY)
    if window is None:
        return
    floor = window.ids[-1] if window.ids and not window.complete else 0
    missing = set(sql.public_ids(Cursor(since_id=floor), SQUARE.length)) - set(window.ids)
    if missing:
        logger.warning("%d posts were missing in the square and are added", len(missing))
        SQUARE.push([EVERYBODY], sorted(missing), news=False)


def _read(cursor: Cursor, count: int) -> WindowRange | None:
    read = SQUARE.read_up if cursor.ascending else SQUARE.read
    return read(EVERYBODY, newest=cursor.max_id, oldest=cursor.floor, count=count)


def _snapshot(_reader_id: int) -> list[int]:
    return sql.public_ids(Cursor(), SQUARE.length)
