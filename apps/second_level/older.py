"""Reads pages and home caches from the second level. A worker fills in the parts that it does not cover yet."""

import time

from django.conf import settings

from apps.events.actions import enqueue
from apps.pagination import Cursor
from apps.second_level import spans
from apps.second_level.spans import ENTRIES
from apps.timeline.sources import merge, sql
from feedcache.ids import MAX_ID, first_id_at

FILL_COUNT = 200  # ids per fill: ten pages
EXPIRES_SECONDS = 10  # after this time, a fill is not started: the reader has left the page


def page(reader_id: int, cursor: Cursor, count: int) -> list[int] | None:
    """Up to `count` candidate ids within the bounds and in the order of the cursor, including restricted posts.

    None if the span covers neither the whole range nor `count` ids of it, or if posts in it may still be uncommitted.
    """
    if cursor.ascending:
        covered = ENTRIES.read_up(reader_id, oldest=cursor.floor, newest=cursor.max_id, count=count)
    elif _is_settled(cursor):
        covered = ENTRIES.read(reader_id, newest=cursor.max_id, oldest=cursor.floor, count=count)
    else:
        return None
    if covered is not None and covered.complete:
        restricted = sql.restricted_home_ids(reader_id, cursor, count)
        return merge.first_ids([covered.ids, restricted], count, ascending=cursor.ascending)
    if not cursor.ascending:
        _enqueue_fill(reader_id, cursor.max_id)
    return None


def newest(reader_id: int, count: int) -> list[int] | None:
    """The newest `count` ids of open posts: those in the reader's span, and newer ones from the table of posts.

    Returns fewer if no more exist, and None if there is no valid span or it does not contain enough ids.
    """
    span = spans.newest(reader_id, count)
    _enqueue_fill(reader_id, None)
    if span is None:
        return None
    newer = sql.open_home_ids(reader_id, Cursor(since_id=span.ceiling - 1), count)
    if len(newer) + len(span.ids) < count and span.floor > 0:
        return None
    return (newer + span.ids)[:count]


def _enqueue_fill(reader_id: int, below: int | None) -> None:
    enqueue("apps.second_level.tasks.fill", reader_id, below, expires=EXPIRES_SECONDS)


def fill(reader_id: int, below: int | None) -> None:
    """Store the next `FILL_COUNT` ids below `below`; if `below` is None, extend the span up to ids five minutes old.

    Ids that the span already covers are skipped; if it covers `FILL_COUNT` of them, or reaches the oldest post, nothing
    is stored. Without `below`, a new span gets enough ids for a home cache.
    """
    if below is None:
        _fill_top(reader_id)
        return
    covered = ENTRIES.read(reader_id, newest=below, oldest=0, count=FILL_COUNT)
    if covered is not None and covered.complete:
        return
    start = covered.ids[-1] if covered is not None and covered.ids else below
    _fill(reader_id, Cursor(max_id=start), FILL_COUNT)


def _fill_top(reader_id: int) -> None:
    settled = first_id_at(int(time.time()) - spans.SETTLED_SECONDS)
    span = spans.newest(reader_id, 1)
    if span is None or span.ceiling < settled:
        since = span.ceiling - 1 if span is not None else None
        _fill(
            reader_id,
            Cursor(max_id=settled, since_id=since),
            settings.HOME_WINDOW_LENGTH + FILL_COUNT,
        )


def _fill(reader_id: int, cursor: Cursor, count: int) -> None:
    revision = spans.revision_of(reader_id)
    ids = sql.open_home_ids(reader_id, cursor, count)
    floor = ids[-1] - 1 if len(ids) == count else cursor.floor  # fewer ids: the range has no more
    spans.fill(reader_id, revision, ids, ceiling=cursor.max_id or MAX_ID, floor=floor)


def _is_settled(cursor: Cursor) -> bool:
    """Whether the cursor is so old that no open transaction can still commit an id below it."""
    if cursor.max_id is None:
        return False
    return cursor.max_id <= first_id_at(int(time.time()) - spans.SETTLED_SECONDS)
