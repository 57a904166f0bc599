"""The second level: readers' timelines as rows in PostgreSQL, below the windows in Redis (source 001, 60 days of life).

Rows alone prove nothing, since some may be missing. What is answered is what a reader's *span* covers: between its ends
every open post of the followees is there. Deep reading fills it (`fill`), and it grows downwards page by page, so whoever
comes back to a page gets it by one range read. That holds because

- ids younger than five minutes stay out: posts are not committed in the order of their ids;
- a span is of one `graph_revision` of its reader, and a miss at any other; the events of follows bring it along (`follow`);
- its rows are written anew when it is filled, so none of them ends before the span does;
- rows of deleted posts, or of authors who are not followed any more, may be there: every read checks what it shows.

A delivery under the policy "push" writes a row for every follower, online or not (`push`).
"""

import logging
import time
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from apps.graph.models import Followee
from apps.sql import rows_of
from apps.timeline.models import TimelineEntry, TimelineSpan
from apps.timeline.sources import sql as pull
from feedcache.ids import MAX_AUTHOR_ID, MAX_ID, SEQUENCE_BITS, author_of, first_id_at
from feedcache.structures.home_window import WindowRange

logger = logging.getLogger(__name__)

SETTLED_SECONDS = 300  # far longer than a transaction lives
MAX_SPAN_ENTRIES = 20_000  # entries of a span; a reader who goes on begins a new one
MAX_OF_A_FOLLOWEE = 5_000  # posts that a follow brings in; who wrote more makes the span begin anew
PURGE_BATCH = 5_000
FOLLOWERS_BATCH = 5_000

# One statement, one snapshot: a span that holds now, and what it covers of a range. {side} is the range, {order} its order.
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
ON CONFLICT (reader_id, post_id) DO {again}
"""
_ONCE, _ANEW = (
    _ADD.format(again="NOTHING"),
    _ADD.format(again="UPDATE SET added_at = EXCLUDED.added_at"),
)
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
_TIDY = """
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
    """The rows as a `TimelineStore`: what the span of a reader covers."""

    def read(
        self, reader_id: int, *, newest: int | None, oldest: int, count: int
    ) -> WindowRange | None:
        """Up to `count` ids below `newest` and above `oldest`, newest first; None when the span does not begin there."""
        found = _range(_DOWN, reader_id, newest, oldest, count)
        if found is None:
            return None
        floor, _ceiling, ids = found
        return WindowRange(ids, complete=len(ids) >= count or floor <= oldest)

    def read_up(
        self, reader_id: int, *, oldest: int, newest: int | None, count: int
    ) -> WindowRange | None:
        """Up to `count` ids just above `oldest`, oldest first; None when the span does not reach down to it."""
        found = _range(_UP, reader_id, newest, oldest, count)
        if found is None:
            return None
        _floor, ceiling, ids = found
        ends_inside = newest is not None and newest <= ceiling
        return WindowRange(ids, complete=len(ids) >= count or ends_inside)

    def push(self, reader_ids: Sequence[int], post_ids: Sequence[int]) -> None:
        """Write rows, where there are none."""
        _run(_ONCE, readers=list(reader_ids), posts=list(post_ids), now=timezone.now())

    def remove(self, reader_id: int, post_ids: Collection[int]) -> None:
        """Delete rows."""
        TimelineEntry.objects.filter(reader=reader_id, post_id__in=post_ids).delete()

    def drop_many(self, reader_ids: Sequence[int]) -> None:
        """Forget readers: first what is said of their rows, then the rows."""
        TimelineSpan.objects.filter(reader__in=reader_ids).delete()
        TimelineEntry.objects.filter(reader__in=reader_ids).delete()


ENTRIES = Entries()


def push(author_id: int, first_edge: int, last_edge: int, post_id: int) -> int:
    """Write a post for all followers of a chunk, in one statement; how many had no row yet."""
    return _run(_PUSH, author=author_id, first=first_edge, last=last_edge, post=post_id)


def revision_of(reader_id: int) -> int:
    """The revision that a span filled from now on is of; read it before what is to be filled in."""
    return _one(_REVISION, reader=reader_id) or 0


def fill(reader_id: int, revision: int, ids: Sequence[int], *, ceiling: int, floor: int) -> None:
    """Keep what was pulled: `ids` are all open posts between `floor` and `ceiling` (exclusive), as of a revision.

    Joins the span when both touch, else takes its place. Nothing is kept when the followees have changed since, when a row is
    locked, or when PostgreSQL takes no writes: no read waits for this or fails by it.
    """
    ceiling = min(ceiling, first_id_at(int(time.time()) - SETTLED_SECONDS))
    if floor >= ceiling - 1:
        return
    settled = [one for one in ids if one < ceiling]
    try:
        with transaction.atomic():
            # nobody follows or unfollows meanwhile
            if _one(_REVISION + " FOR SHARE SKIP LOCKED", reader=reader_id) == revision:
                _keep(reader_id, revision, settled, ceiling, floor)
    except DatabaseError as error:
        logger.warning("the second level of %s was not filled: %s", reader_id, error)


def _keep(reader_id: int, revision: int, ids: list[int], ceiling: int, floor: int) -> None:
    old = TimelineSpan.objects.select_for_update(skip_locked=True).filter(pk=reader_id).first()
    now, length = timezone.now(), len(ids)
    filled_at = now
    if old is not None and _joins(old, revision, ceiling, floor):
        ceiling, floor = max(ceiling, old.ceiling), min(floor, old.floor)
        length, filled_at = length + old.length, old.filled_at
    elif old is None and TimelineSpan.objects.filter(pk=reader_id).exists():
        return  # somebody else is filling it
    else:
        TimelineEntry.objects.filter(reader=reader_id).delete()
    _run(_ANEW, readers=[reader_id], posts=ids, now=now)
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
    holds = old.graph_revision == revision and old.filled_at > _horizon()
    return touches and holds and old.length < MAX_SPAN_ENTRIES


def follow(reader_id: int, author_id: int, *, is_last: Any) -> None:
    """Bring a span in line with whether an author is followed now.

    `is_last` tells, while the reader's follows stand still, that no other change of them is still to come: then the span is
    of the present revision. Otherwise it stays behind, a miss, until the last one has come.
    """
    with transaction.atomic():
        revision = _one(_REVISION + " FOR SHARE", reader=reader_id)
        span = TimelineSpan.objects.select_for_update().filter(pk=reader_id).first()
        if span is None or revision is None:
            return
        if Followee.objects.filter(owner=reader_id, followee=author_id).exists():
            found = pull.open_between(author_id, span.floor, span.ceiling, MAX_OF_A_FOLLOWEE + 1)
            if len(found) > MAX_OF_A_FOLLOWEE:
                span.delete()
                return
            _run(_ANEW, readers=[reader_id], posts=found, now=timezone.now())
        else:
            _run(_WITHDRAW, reader=reader_id, author=author_id, **_AUTHOR_BITS)
        if is_last():
            TimelineSpan.objects.filter(pk=reader_id).update(graph_revision=revision)


def tidy(post_id: int) -> None:
    """Delete the rows of a post that is gone, a batch of followers at a time; reads skip them already."""
    author_id = author_of(post_id)
    ENTRIES.remove(author_id, [post_id])
    after: int | None = 0
    while after is not None:
        after = _one(_TIDY, author=author_id, after=after, post=post_id, maximum=FOLLOWERS_BATCH)


def purge(*, max_batches: int = 20) -> int:
    """Delete spans and rows whose time is over, the spans first; how many rows."""
    TimelineSpan.objects.filter(filled_at__lt=_horizon()).delete()
    return sum(_batches(max_batches))


def _batches(maximum: int) -> Iterator[int]:
    for _batch in range(maximum):
        deleted = _run(_PURGE, horizon=_horizon(), maximum=PURGE_BATCH)
        yield deleted
        if deleted < PURGE_BATCH:
            return


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
    for floor, ceiling, ids in rows_of(query, values):
        return floor, ceiling, ids
    return None


def _one(query: str, **values: Any) -> int | None:
    with connection.cursor() as sql:
        sql.execute(query, values)
        row = sql.fetchone()
        return row[0] if row else None


def _run(query: str, **values: Any) -> int:
    with connection.cursor() as sql:
        sql.execute(query, values)
        return int(sql.rowcount)
