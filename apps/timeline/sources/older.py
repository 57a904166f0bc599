"""Ids of a home timeline below its home cache, or of all of it without one, down to the first post ever.

Three ways. What an app has stored of the range answers. Otherwise readers who follow many active authors find a page
among the next posts of the whole site. Otherwise PostgreSQL probes the posts of each followee.
"""

from apps.pagination import Cursor
from apps.timeline.sources import sql
from apps.timeline.sources.hooks import STORED_TIMELINES


def home_ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """Up to `count` candidate ids inside the cursor's bounds, in reading order."""
    for stored in STORED_TIMELINES:
        ids = stored.page(reader_id, cursor, count)
        if ids is not None:
            return ids
    nearby = sql.home_ids_nearby(reader_id, cursor, count)
    return nearby if len(nearby) >= count else sql.home_ids(reader_id, cursor, count)


def newest_home_ids(reader_id: int, count: int) -> list[int] | None:
    """The newest `count` open ids, fewer when there are no more; None when no app has stored them."""
    for stored in STORED_TIMELINES:
        ids = stored.newest(reader_id, count)
        if ids is not None:
            return ids
    return None
