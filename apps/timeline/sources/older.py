"""Ids of a home timeline below its home cache, or of all of it without one, down to the first post ever.

Three ways, the cheapest first (docs/performance.md). Readers who follow many active authors find a page among the next posts of the
whole site. Otherwise the second level answers, if it covers the range; restricted posts then come from PostgreSQL. Otherwise
PostgreSQL probes the posts of each followee; if that is slow, a worker fills the second level for the next pages.
"""

import time

from django.conf import settings

from apps.events.actions import enqueue
from apps.paging import Cursor
from apps.posts.cache.posts import load_open
from apps.posts.queries import Preloaded
from apps.timeline.sources import merge, second_level, sql
from apps.timeline.sources.second_level import ENTRIES
from feedcache.ids import first_id_at

FILL_COUNT = 200  # ids per fill: ten pages
SLOW_SECONDS = 0.005  # a faster query is not worth a worker; a thousand followees take about that
EXPIRES_SECONDS = 10  # by then the reader has moved on


def home_ids(
    reader_id: int, cursor: Cursor, count: int, *, preloaded: Preloaded | None = None
) -> list[int]:
    """Up to `count` candidate ids inside the cursor's bounds, in reading order.

    Puts the contents of older open posts into `preloaded`: cached, these rarely read posts would displace popular ones.
    """
    ids = _ids(reader_id, cursor, count)
    if ids and preloaded is not None and cursor.max_id is not None and not cursor.ascending:
        preloaded |= load_open(ids)
    return ids


def _ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    nearby = sql.home_ids_nearby(reader_id, cursor, count)
    if len(nearby) >= count:
        return nearby
    covered = _second_level_ids(reader_id, cursor, count)
    if covered is not None:
        return covered
    began = time.perf_counter()
    ids = sql.home_ids(reader_id, cursor, count)
    if time.perf_counter() - began >= SLOW_SECONDS and _is_settled(cursor):
        enqueue(
            "apps.timeline.tasks.fill_second_level",
            reader_id,
            cursor.max_id,
            expires=EXPIRES_SECONDS,
        )
    return ids


def fill_second_level(reader_id: int, newest: int) -> None:
    """Make the second level cover the next `FILL_COUNT` ids below an id."""
    covered = ENTRIES.read(reader_id, newest=newest, oldest=0, count=FILL_COUNT)
    if covered is not None and covered.complete:
        return
    start = covered.ids[-1] if covered is not None and covered.ids else newest
    revision = second_level.revision_of(reader_id)
    ids = sql.open_home_ids(reader_id, Cursor(max_id=start), FILL_COUNT)
    floor = ids[-1] - 1 if len(ids) == FILL_COUNT else 0  # fewer: nothing older exists
    second_level.fill(reader_id, revision, ids, ceiling=start, floor=floor)


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
