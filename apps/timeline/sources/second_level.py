"""The second level: readers' timelines as rows in PostgreSQL, below the home caches in Redis (source 001, 60 days of life).

Rows alone prove nothing, since some may be missing. A read answers only what the reader's *span* covers: between its ends
every open post of the followees is there. Paging down fills it (`fill`), so the next visit to a page is one range read.
That holds because

- ids younger than five minutes stay out: posts are not committed in the order of their ids;
- a span belongs to one `graph_revision` of its reader and is a miss at any other; `sync_follow` carries it to the next;
- filling renews the age of its rows, so no row expires before the span does;
- rows of deleted posts or former followees may remain: every read checks visibility.

A delivery under the policy "push" writes a row for every follower, online or not (`push`).
"""

import logging
import time
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from apps.graph.models import Followee
from apps.sql import rows_of
from apps.timeline.models import TimelineEntry, TimelineSpan
from apps.timeline.sources import sql
from feedcache.ids import MAX_AUTHOR_ID, MAX_ID, SEQUENCE_BITS, author_of, first_id_at
from feedcache.structures.home_window import WindowRange

logger = logging.getLogger(__name__)

SETTLED_SECONDS = 300  # far longer than a transaction lives
MAX_SPAN_ENTRIES = 20_000  # a reader who pages further starts a new span
MAX_POSTS_OF_FOLLOWEE = 5_000  # added by a follow; with more the span is dropped
PURGE_BATCH = 5_000
FOLLOWERS_BATCH = 5_000

# One statement, one snapshot: a valid span, and the ids of a range that it covers.
_READ = """
SELECT span.floor, span.ceiling, ARRAY(
    SELECT post_id FROM timeline_timelineentry
    WHERE reader_id = %(reader)s AND post_id < least(span.ceiling, %(newest)s) AND post_id > greatest(span.floor, %(oldest)s)
    ORDER BY post_id {order} LIMIT %(count)s
)
FROM timeline_timelinespan span
JOIN accounts_usercounts c ON c.user_id = span.reader_id AND c.graph_revision = span.graph_revision
WHERE span.reader_id = %(reader)s AND span.filled_at > %(horizon)s AND {begins}
"""
_DOWN = _READ.format(
    order="DESC", begins="%(newest)s <= span.ceiling AND %(newest)s > span.floor + 1"
)
_UP = _READ.format(order="ASC", begins="%(oldest)s >= span.floor AND %(oldest)s < span.ceiling - 1")

_REVISION = "SELECT graph_revision FROM accounts_usercounts WHERE user_id = %(reader)s"
_ADD = """
INSERT INTO timeline_timelineentry (reader_id, post_id, added_at)
SELECT reader, post, %(now)s FROM unnest(%(readers)s::bigint[]) reader CROSS JOIN unnest(%(posts)s::bigint[]) post
ON CONFLICT (reader_id, post_id) DO {conflict}
"""
_INSERT = _ADD.format(conflict="NOTHING")
_UPSERT = _ADD.format(conflict="UPDATE SET added_at = EXCLUDED.added_at")
_PUSH = """
INSERT INTO timeline_timelineentry (reader_id, post_id, added_at)
SELECT follower_id, %(post)s, now() FROM graph_follower
WHERE owner_id = %(author)s AND id BETWEEN %(first)s AND %(last)s
ON CONFLICT (reader_id, post_id) DO NOTHING
"""
_WITHDRAW = """
DELETE FROM timeline_timelineentry
WHERE reader_id = %(reader)s AND (post_id >> %(shift)s & %(mask)s) = %(author)s
"""
_AUTHOR_BITS = {"shift": SEQUENCE_BITS, "mask": MAX_AUTHOR_ID}  # of a post id
_DELETE_FOR_FOLLOWERS = """
WITH follower AS (
    SELECT id, follower_id FROM graph_follower WHERE owner_id = %(author)s AND id > %(after)s ORDER BY id LIMIT %(maximum)s
), gone AS (
    DELETE FROM timeline_timelineentry entry USING follower
    WHERE entry.reader_id = follower.follower_id AND entry.post_id = %(post)s
)
SELECT max(id) FROM follower
"""
_PURGE = """
DELETE FROM timeline_timelineentry WHERE (reader_id, post_id) IN (
    SELECT reader_id, post_id FROM timeline_timelineentry WHERE added_at < %(horizon)s LIMIT %(maximum)s
) AND added_at < %(horizon)s
"""


class Entries:
    """The rows with the methods of `HomeWindows`; a range is complete only inside the span of the reader."""

    def read(
        self, reader_id: int, *, newest: int | None, oldest: int, count: int
    ) -> WindowRange | None:
        """Up to `count` ids below `newest` and above `oldest`, newest first; None when the span does not begin there."""
        row = _range(_DOWN, reader_id, newest, oldest, count)
        if row is None:
            return None
        floor, _ceiling, ids = row
        return WindowRange(ids, complete=len(ids) >= count or floor <= oldest)

    def read_up(
        self, reader_id: int, *, oldest: int, newest: int | None, count: int
    ) -> WindowRange | None:
        """Up to `count` ids just above `oldest`, oldest first; None when the span does not reach down to it."""
        row = _range(_UP, reader_id, newest, oldest, count)
        if row is None:
            return None
        _floor, ceiling, ids = row
        ends_inside = newest is not None and newest <= ceiling
        return WindowRange(ids, complete=len(ids) >= count or ends_inside)

    def push(self, reader_ids: Sequence[int], post_ids: Sequence[int]) -> None:
        _execute(_INSERT, readers=list(reader_ids), posts=list(post_ids), now=timezone.now())

    def remove(self, reader_id: int, post_ids: Collection[int]) -> None:
        TimelineEntry.objects.filter(reader=reader_id, post_id__in=post_ids).delete()

    def drop_many(self, reader_ids: Sequence[int]) -> None:
        """Delete the spans and rows of readers, the spans first."""
        TimelineSpan.objects.filter(reader__in=reader_ids).delete()
        TimelineEntry.objects.filter(reader__in=reader_ids).delete()


ENTRIES = Entries()


def push(author_id: int, first_edge: int, last_edge: int, post_id: int) -> int:
    """Write a post for all followers of a chunk, in one statement; the number of new rows."""
    return _execute(_PUSH, author=author_id, first=first_edge, last=last_edge, post=post_id)


def revision_of(reader_id: int) -> int:
    """The `graph_revision` to pass to `fill`; read it before the ids."""
    return _scalar(_REVISION, reader=reader_id) or 0


def fill(reader_id: int, revision: int, ids: Sequence[int], *, ceiling: int, floor: int) -> None:
    """Store pulled ids: all open posts between `floor` and `ceiling` (exclusive), at a graph revision.

    Joins the span where they touch, else replaces it. Stores nothing when the follows have changed since, when a row is
    locked, or when PostgreSQL takes no writes: it never delays a read and never raises.
    """
    ceiling = min(ceiling, first_id_at(int(time.time()) - SETTLED_SECONDS))
    if floor >= ceiling - 1:
        return
    settled = [post_id for post_id in ids if post_id < ceiling]
    try:
        with transaction.atomic():
            # the lock keeps the reader's follows as they are
            if _scalar(_REVISION + " FOR SHARE SKIP LOCKED", reader=reader_id) == revision:
                _store(reader_id, revision, settled, ceiling, floor)
    except DatabaseError as error:
        logger.warning("the second level of %s was not filled: %s", reader_id, error)


def _store(reader_id: int, revision: int, ids: list[int], ceiling: int, floor: int) -> None:
    old = TimelineSpan.objects.select_for_update(skip_locked=True).filter(pk=reader_id).first()
    now, length = timezone.now(), len(ids)
    filled_at = now
    if old is not None and _joins(old, revision, ceiling, floor):
        ceiling, floor = max(ceiling, old.ceiling), min(floor, old.floor)
        length, filled_at = length + old.length, old.filled_at
    elif old is None and TimelineSpan.objects.filter(pk=reader_id).exists():
        return  # locked by another fill
    else:
        TimelineEntry.objects.filter(reader=reader_id).delete()
    _execute(_UPSERT, readers=[reader_id], posts=ids, now=now)
    values: dict[str, Any] = {
        "ceiling": ceiling,
        "floor": floor,
        "graph_revision": revision,
        "length": length,
        "filled_at": filled_at,
    }
    TimelineSpan.objects.update_or_create(pk=reader_id, defaults=values)


def _joins(old: TimelineSpan, revision: int, ceiling: int, floor: int) -> bool:
    touches = ceiling > old.floor and floor < old.ceiling
    is_valid = old.graph_revision == revision and old.filled_at > _horizon()
    return touches and is_valid and old.length < MAX_SPAN_ENTRIES


def sync_follow(reader_id: int, author_id: int, *, is_last: Callable[[], bool]) -> None:
    """Add or remove an author's posts in a span, whichever fits the present follows of the reader.

    `is_last` is called while the follows are locked: True when no other change of them is pending. Only then does the span get
    the present revision; until then it stays a miss.
    """
    with transaction.atomic():
        revision = _scalar(_REVISION + " FOR SHARE", reader=reader_id)
        span = TimelineSpan.objects.select_for_update().filter(pk=reader_id).first()
        if span is None or revision is None:
            return
        if Followee.objects.filter(owner=reader_id, followee=author_id).exists():
            ids = sql.open_between(author_id, span.floor, span.ceiling, MAX_POSTS_OF_FOLLOWEE + 1)
            if len(ids) > MAX_POSTS_OF_FOLLOWEE:
                span.delete()
                return
            _execute(_UPSERT, readers=[reader_id], posts=ids, now=timezone.now())
        else:
            _execute(_WITHDRAW, reader=reader_id, author=author_id, **_AUTHOR_BITS)
        if is_last():
            TimelineSpan.objects.filter(pk=reader_id).update(graph_revision=revision)


def delete_post(post_id: int) -> None:
    """Delete the rows of a deleted post, a batch of followers at a time; reads skip them already."""
    author_id = author_of(post_id)
    ENTRIES.remove(author_id, [post_id])
    after: int | None = 0
    while after is not None:
        after = _scalar(
            _DELETE_FOR_FOLLOWERS,
            author=author_id,
            after=after,
            post=post_id,
            maximum=FOLLOWERS_BATCH,
        )


def purge(*, max_batches: int = 20) -> int:
    """Delete expired spans, then expired rows; the number of rows deleted."""
    TimelineSpan.objects.filter(filled_at__lt=_horizon()).delete()
    total = 0
    for _batch in range(max_batches):
        deleted = _execute(_PURGE, horizon=_horizon(), maximum=PURGE_BATCH)
        total += deleted
        if deleted < PURGE_BATCH:
            break
    return total


def _horizon() -> datetime:
    return timezone.now() - timedelta(days=settings.TIMELINE_ENTRY_DAYS)


def _range(
    query: str, reader_id: int, newest: int | None, oldest: int, count: int
) -> tuple[int, int, list[int]] | None:
    values: dict[str, Any] = {
        "reader": reader_id,
        "newest": MAX_ID if newest is None else newest,
        "oldest": oldest,
        "count": count,
        "horizon": _horizon(),
    }
    rows = rows_of(query, values)
    return (rows[0][0], rows[0][1], rows[0][2]) if rows else None


def _scalar(query: str, **values: Any) -> int | None:
    rows = rows_of(query, values)
    return rows[0][0] if rows else None


def _execute(query: str, **values: Any) -> int:
    """Run a statement; the number of rows it changed."""
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return int(cursor.rowcount)
