"""Ids of a home timeline below its windows, and of the whole of it when there are none: to the first post ever.

Three ways, the cheapest first (docs/performance.md). Whoever follows many of those who write finds a page among the next posts of
everybody. Else the second level answers, where it covers the range (`entries`); what is for some only comes from
PostgreSQL beside it. Else PostgreSQL probes what each followee wrote; if that takes long, a worker keeps what comes next.
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

AHEAD = 200  # ids that are kept at once: ten pages
SLOW_SECONDS = 0.005  # what took less is not worth a worker; a thousand followees take about that
EXPIRES = 10  # seconds; by then the reader has read on


def home_ids(
    reader_id: int, cursor: Cursor, count: int, *, preloaded: Preloaded | None = None
) -> list[int]:
    """Up to `count` candidate ids inside the cursor's bounds, in reading order.

    `preloaded` gets the contents of the open ones further down: what hardly anybody reads would only drive out of the caches
    what many do. The newest posts are theirs.
    """
    ids = _ids(reader_id, cursor, count)
    if ids and preloaded is not None and cursor.max_id is not None and not cursor.ascending:
        preloaded |= load_open(ids)
    return ids


def _ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    nearby = sql.home_ids_nearby(reader_id, cursor, count)
    if len(nearby) >= count:
        return nearby
    kept = _kept_ids(reader_id, cursor, count) if settings.TIMELINE_SECOND_LEVEL else None
    if kept is not None:
        return kept
    began = time.perf_counter()
    ids = sql.home_ids(reader_id, cursor, count)
    if time.perf_counter() - began >= SLOW_SECONDS and _may_be_kept(cursor):
        enqueue("apps.timeline.tasks.keep_older", reader_id, cursor.max_id, expires=EXPIRES)
    return ids


def keep(reader_id: int, newest: int) -> None:
    """Let the second level cover the next pages below an id, unless it does."""
    there = ENTRIES.read(reader_id, newest=newest, oldest=0, count=AHEAD)
    if there is not None and there.complete:
        return
    start = there.ids[-1] if there is not None and there.ids else newest
    revision = second_level.revision_of(reader_id)
    ids = sql.open_home_ids(reader_id, Cursor(max_id=start), AHEAD)
    floor = ids[-1] - 1 if len(ids) == AHEAD else 0  # fewer: nothing older exists
    second_level.fill(reader_id, revision, ids, ceiling=start, floor=floor)


def _kept_ids(reader_id: int, cursor: Cursor, count: int) -> list[int] | None:
    """By the second level; None when it does not know them all."""
    if cursor.ascending:
        found = ENTRIES.read_up(reader_id, oldest=cursor.floor, newest=cursor.max_id, count=count)
    elif _may_be_kept(cursor):
        found = ENTRIES.read(reader_id, newest=cursor.max_id, oldest=cursor.floor, count=count)
    else:
        found = None
    if found is None or not found.complete:
        return None
    restricted = sql.restricted_home_ids(reader_id, cursor, count)
    return merge.page([found.ids, restricted], count, ascending=cursor.ascending)


def _may_be_kept(cursor: Cursor) -> bool:
    """Whether what lies below a page may be: nothing is committed there any more."""
    if not settings.TIMELINE_SECOND_LEVEL or cursor.ascending or cursor.max_id is None:
        return False
    return cursor.max_id <= first_id_at(int(time.time()) - second_level.SETTLED_SECONDS)
