"""Ids of a home timeline below its home cache, or of all of it without one, down to the first post ever.

Three ways. The second level answers if it covers the range; restricted posts then come from PostgreSQL. Otherwise
readers who follow many active authors find a page among the next posts of the whole site. Otherwise PostgreSQL probes
the posts of each followee. What the second level did not cover a worker fills in, for the next pages.
"""

import time

from django.conf import settings

from apps.events.actions import enqueue
from apps.pagination import Cursor
from apps.timeline.sources import merge, second_level, sql
from apps.timeline.sources.second_level import ENTRIES
from feedcache.ids import MAX_ID, first_id_at

FILL_COUNT = 200  # ids per fill: ten pages
EXPIRES_SECONDS = 10  # by then the reader has moved on


def home_ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """Up to `count` candidate ids inside the cursor's bounds, in reading order."""
    covered = _second_level_ids(reader_id, cursor, count)
    if covered is not None:
        return covered
    if _is_settled(cursor):
        enqueue_fill(reader_id, cursor.max_id)
    nearby = sql.home_ids_nearby(reader_id, cursor, count)
    return nearby if len(nearby) >= count else sql.home_ids(reader_id, cursor, count)


def newest_home_ids(reader_id: int, count: int) -> list[int] | None:
    """The newest `count` open ids from the second level and, above it, from the posts; fewer when there are no more.

    None when the second level does not reach down so far.
    """
    span = second_level.newest(reader_id, count) if settings.TIMELINE_SECOND_LEVEL else None
    if span is None:
        return None
    newer = sql.open_home_ids(reader_id, Cursor(since_id=span.ceiling - 1), count)
    if len(newer) + len(span.ids) < count and span.floor > 0:
        return None
    return (newer + span.ids)[:count]


def enqueue_fill(reader_id: int, newest: int | None) -> None:
    """Have a worker call `fill_second_level`; nothing where the second level is off."""
    if settings.TIMELINE_SECOND_LEVEL:
        enqueue("apps.timeline.tasks.fill_second_level", reader_id, newest, expires=EXPIRES_SECONDS)


def fill_second_level(reader_id: int, newest: int | None) -> None:
    """Make the second level cover the next `FILL_COUNT` ids below an id; without an id, all that a home cache has too.

    Those reach up to what is settled; of what is there already nothing is read or written again.
    """
    if newest is None:
        _fill_top(reader_id)
        return
    covered = ENTRIES.read(reader_id, newest=newest, oldest=0, count=FILL_COUNT)
    if covered is not None and covered.complete:
        return
    start = covered.ids[-1] if covered is not None and covered.ids else newest
    _fill(reader_id, Cursor(max_id=start), FILL_COUNT)


def _fill_top(reader_id: int) -> None:
    settled = first_id_at(int(time.time()) - second_level.SETTLED_SECONDS)
    span = second_level.newest(reader_id, 1)
    if span is None or span.ceiling < settled:
        since = span.ceiling - 1 if span is not None else None
        _fill(
            reader_id,
            Cursor(max_id=settled, since_id=since),
            settings.HOME_WINDOW_LENGTH + FILL_COUNT,
        )


def _fill(reader_id: int, cursor: Cursor, count: int) -> None:
    revision = second_level.revision_of(reader_id)
    ids = sql.open_home_ids(reader_id, cursor, count)
    floor = ids[-1] - 1 if len(ids) == count else cursor.floor  # fewer: nothing older exists
    second_level.fill(reader_id, revision, ids, ceiling=cursor.max_id or MAX_ID, floor=floor)


def _second_level_ids(reader_id: int, cursor: Cursor, count: int) -> list[int] | None:
    """None when the second level does not cover the whole range."""
    if not settings.TIMELINE_SECOND_LEVEL:
        return None
    if cursor.ascending:
        covered = ENTRIES.read_up(reader_id, oldest=cursor.floor, newest=cursor.max_id, count=count)
    elif _is_settled(cursor):
        covered = ENTRIES.read(reader_id, newest=cursor.max_id, oldest=cursor.floor, count=count)
    else:
        covered = None
    if covered is None or not covered.complete:
        return None
    restricted = sql.restricted_home_ids(reader_id, cursor, count)
    return merge.first_ids([covered.ids, restricted], count, ascending=cursor.ascending)


def _is_settled(cursor: Cursor) -> bool:
    """Whether the second level may hold what lies below a page: no transaction commits an id there any more."""
    if not settings.TIMELINE_SECOND_LEVEL or cursor.ascending or cursor.max_id is None:
        return False
    return cursor.max_id <= first_id_at(int(time.time()) - second_level.SETTLED_SECONDS)
