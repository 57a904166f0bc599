"""The ids of a home timeline below its home cache (or all ids, if there is none), down to the very first post.

They come from the first of three sources that has them: a range stored by an optional app; the next posts of the whole
site, which suffice for readers who follow many active authors; or a scan of each followee's posts in PostgreSQL.
"""

from apps.pagination import Cursor
from apps.timeline.sources import sql
from apps.timeline.sources.hooks import STORED_TIMELINES


def home_ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """Up to `count` candidate ids inside the cursor's bounds and in its order."""
    for stored in STORED_TIMELINES:
        ids = stored.page(reader_id, cursor, count)
        if ids is not None:
            return ids
    nearby = sql.home_ids_nearby(reader_id, cursor, count)
    return nearby if len(nearby) >= count else sql.home_ids(reader_id, cursor, count)


def newest_home_ids(reader_id: int, count: int) -> list[int] | None:
    """The ids of the newest `count` open posts, or all if there are fewer; None if no app has stored them."""
    for stored in STORED_TIMELINES:
        ids = stored.newest(reader_id, count)
        if ids is not None:
            return ids
    return None
