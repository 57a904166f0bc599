"""The second level: readers' timelines as rows, which reach further back than home caches (source 001: 60 days).

The rows are in PostgreSQL or in Cassandra (`stores`). Some may be missing, so only ranges within the reader's *span*
are read: between its ends, no open post of the reader or of a followee (including virtual followees) is missing.
Rebuilding a home cache and paging down extend the span (`fill`), so the next visit takes one range read. A span can be
trusted because

- it excludes ids younger than five minutes, because posts are not committed in the order of their ids;
- a span is valid for one `graph_revision` of its reader; `sync_follow` moves it to the current revision and adds the
  posts of accounts followed since;
- filling a range writes all its rows again, so no row expires before the span does;
- a span has the `stamp` of the last write that changed it; rows in Cassandra with another stamp, or none, are a miss;
- rows of deleted posts or former followees may remain: every page checks visibility and follows.

A delivery under the policy "push" writes a row for every follower, online or not (`push`).
"""

import logging
import time
from collections.abc import Collection, Sequence
from typing import Any

from django.db import DatabaseError, transaction
from django.utils import timezone

from apps.graph.models import Followee
from apps.posts.models import Post
from apps.second_level.stores import (
    ANYWHERE,
    BEGINS_ABOVE,
    BEGINS_BELOW,
    Covered,
    horizon,
    postgresql,
    timeline_store,
)
from apps.sql import rows_of
from apps.timeline.models import FanoutChunk, TimelineSpan
from apps.timeline.sources import sql, virtual_follows
from feedcache.breaker import SourceUnavailable
from feedcache.ids import MAX_ID, author_of, first_id_at
from feedcache.structures.home_window import WindowRange

logger = logging.getLogger(__name__)

SETTLED_SECONDS = 300  # far longer than any transaction
MAX_SPAN_ENTRIES = 20_000  # a reader who pages further starts a new span
MAX_POSTS_OF_FOLLOWEE = 5_000  # a follow that would add more drops the span
# A sync also adds followees whose event is late or was missed. If there are more than this, it drops the span.
MAX_ADDED_FOLLOWEES = 20
FOLLOWERS_BATCH = 5_000

_REVISION = "SELECT graph_revision FROM accounts_usercounts WHERE user_id = %(reader)s"
_FOLLOWED_SINCE = """
(SELECT followee_id FROM graph_followee WHERE owner_id = %(reader)s AND id > %(follow)s LIMIT %(maximum)s)
UNION (SELECT account_id FROM {virtual} edge WHERE user_id = %(reader)s AND id > %(virtual)s LIMIT %(maximum)s)
"""
_NEWEST_FOLLOWS = """
SELECT coalesce((SELECT max(id) FROM graph_followee WHERE owner_id = %(reader)s), 0),
    coalesce((SELECT max(id) FROM {virtual} edge WHERE user_id = %(reader)s), 0)
"""
_FOLLOWERS = """
SELECT id, {reader} FROM {table} edge WHERE {author} = %(author)s AND id > %(after)s ORDER BY id LIMIT %(maximum)s
"""


class Entries:
    """The rows, with methods like those of `HomeWindows`; a range is complete only within the reader's span."""

    def read(
        self, reader_id: int, *, newest: int | None, oldest: int, count: int
    ) -> WindowRange | None:
        """Up to `count` ids between `oldest` and `newest`, newest first; None unless a valid span contains `newest`."""
        newest = MAX_ID if newest is None else newest
        covered = _read(reader_id, newest=newest, oldest=oldest, count=count, begins=BEGINS_BELOW)
        if covered is None:
            return None
        return WindowRange(
            covered.ids, complete=len(covered.ids) >= count or covered.floor <= oldest
        )

    def read_up(
        self, reader_id: int, *, oldest: int, newest: int | None, count: int
    ) -> WindowRange | None:
        """Up to `count` ids just above `oldest`, oldest first; None unless a valid span contains `oldest`."""
        bounds = {"newest": MAX_ID if newest is None else newest, "oldest": oldest, "count": count}
        covered = _read(reader_id, **bounds, begins=BEGINS_ABOVE, ascending=True)
        if covered is None:
            return None
        ids, ends_inside = covered.ids, newest is not None and newest <= covered.ceiling
        return WindowRange(ids, complete=len(ids) >= count or ends_inside)

    def push(self, reader_ids: Sequence[int], post_ids: Sequence[int]) -> None:
        timeline_store().add(reader_ids, post_ids)

    def remove(self, reader_id: int, post_ids: Collection[int]) -> None:
        timeline_store().remove([reader_id], post_ids)

    def drop_many(self, reader_ids: Sequence[int]) -> None:
        """Delete the spans and then the rows of readers, in this order because no row is read without its span."""
        TimelineSpan.objects.filter(reader__in=reader_ids).delete()
        try:
            timeline_store().drop(reader_ids)
        except SourceUnavailable as error:
            logger.warning("rows of %s readers stay until they expire: %s", len(reader_ids), error)


ENTRIES = Entries()


def newest(reader_id: int, count: int) -> Covered | None:
    """The newest ids of a reader's span, with the ends of the span; None if the reader has no valid span."""
    return _read(reader_id, newest=MAX_ID, oldest=0, count=count, begins=ANYWHERE)


def push_chunk(post: Post, chunk: FanoutChunk) -> None:
    """Write a delivered post for all readers in a chunk of its delivery."""
    edges = (chunk.first_edge, chunk.last_edge)
    push(post.author_id, *edges, post.pk, is_virtual=chunk.is_virtual)


def push(
    author_id: int, first_edge: int, last_edge: int, post_id: int, *, is_virtual: bool = False
) -> int:
    """Write a row for each follower whose follow's id is in range; returns how many it wrote, 0 if Cassandra fails."""
    try:
        return timeline_store().push(
            author_id, first_edge, last_edge, post_id, is_virtual=is_virtual
        )
    except SourceUnavailable as error:
        logger.warning("post %s is not in the second level: %s", post_id, error)
        return 0


def revision_of(reader_id: int) -> int:
    """The `graph_revision` to pass to `fill`; read it before the ids."""
    return _scalar(_REVISION, reader=reader_id) or 0


def fill(reader_id: int, revision: int, ids: Sequence[int], *, ceiling: int, floor: int) -> None:
    """Store `ids`: all open posts between `floor` and `ceiling` (both exclusive), as read at a graph revision.

    Extends the span if it is valid, not too long, and touches this range; otherwise replaces it. Stores nothing if the
    revision has changed since, if a row is locked, or if PostgreSQL or the store does not accept writes. Never raises.
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
    except (DatabaseError, SourceUnavailable) as error:
        logger.warning("could not fill the second level of reader %s: %s", reader_id, error)


def _store(reader_id: int, revision: int, ids: list[int], ceiling: int, floor: int) -> None:
    old = TimelineSpan.objects.select_for_update(skip_locked=True).filter(pk=reader_id).first()
    filled_at, length = timezone.now(), len(ids)
    joins = old is not None and _joins(old, revision, ceiling, floor)
    if old is not None and joins:
        ceiling, floor = max(ceiling, old.ceiling), min(floor, old.floor)
        length, filled_at = length + old.length, old.filled_at
    elif old is None and TimelineSpan.objects.filter(pk=reader_id).exists():
        return  # locked by another fill or a sync
    newest_follow, newest_virtual_follow = _newest_follows(reader_id)
    values: dict[str, Any] = {
        "stamp": timeline_store().fill(reader_id, ids, joins=joins),
        "ceiling": ceiling,
        "floor": floor,
        "graph_revision": revision,
        "newest_follow": newest_follow,
        "newest_virtual_follow": newest_virtual_follow,
        "length": length,
        "filled_at": filled_at,
    }
    TimelineSpan.objects.update_or_create(pk=reader_id, defaults=values)


def _joins(old: TimelineSpan, revision: int, ceiling: int, floor: int) -> bool:
    touches = ceiling > old.floor and floor < old.ceiling
    is_valid = old.graph_revision == revision and old.filled_at > horizon()
    return touches and is_valid and old.length < MAX_SPAN_ENTRIES and timeline_store().holds(old)


def sync_follow(reader_id: int, author_id: int) -> None:
    """Update a reader's span after a follow or a virtual follow has changed.

    Also adds the posts of all others followed since the last sync, because events may arrive in any order or twice, and
    no events arrive while the site runs without this app.
    """
    with transaction.atomic():
        # the lock keeps the reader's follows as they are
        revision = _scalar(_REVISION + " FOR SHARE", reader=reader_id)
        span = TimelineSpan.objects.select_for_update().filter(pk=reader_id).first()
        if span is None or revision is None:
            return
        try:
            is_synced = _sync(span, author_id, revision)
        except SourceUnavailable as error:
            logger.warning("dropped the second level of reader %s: %s", reader_id, error)
            is_synced = False
        if not is_synced:
            span.delete()


def _sync(span: TimelineSpan, author_id: int, revision: int) -> bool:
    """Make the rows of a span match the reader's current follows; False if the span must be dropped."""
    reader_id, store = span.pk, timeline_store()
    if not store.holds(span):
        return False
    added = _followed_since(span)
    if len(added) > MAX_ADDED_FOLLOWEES:
        return False
    is_followed = Followee.objects.filter(owner=reader_id, followee=author_id).exists()
    if is_followed or virtual_follows.followers_among(author_id, [reader_id]):
        added.add(author_id)
    else:
        span.stamp = store.withdraw(reader_id, author_id)
    for followee_id in added:
        ids = sql.open_between(followee_id, span.floor, span.ceiling, MAX_POSTS_OF_FOLLOWEE + 1)
        if len(ids) > MAX_POSTS_OF_FOLLOWEE:
            return False
        span.stamp = store.fill(reader_id, ids, joins=True)
    span.graph_revision = revision
    span.newest_follow, span.newest_virtual_follow = _newest_follows(reader_id)
    span.save()
    return True


def _followed_since(span: TimelineSpan) -> set[int]:
    """Followees added since the last sync; if there are too many to add, only some of them."""
    values = {
        "reader": span.pk,
        "follow": span.newest_follow,
        "virtual": span.newest_virtual_follow,
        "maximum": MAX_ADDED_FOLLOWEES + 1,
    }
    rows = rows_of(_FOLLOWED_SINCE.format(virtual=virtual_follows.table()), values)
    return {followee_id for (followee_id,) in rows}


def _newest_follows(reader_id: int) -> tuple[int, int]:
    """The ids of a reader's newest follow and newest virtual follow; 0 where there is none."""
    query = _NEWEST_FOLLOWS.format(virtual=virtual_follows.table())
    [(follow, virtual)] = rows_of(query, {"reader": reader_id})
    return follow, virtual


def delete_post(post_id: int) -> None:
    """Delete the rows of a deleted post, a batch of followers at a time; reads already skip them."""
    author_id, store = author_of(post_id), timeline_store()
    try:
        store.remove([author_id], [post_id])
        for followers in _follower_lists():
            after = 0
            while rows := rows_of(
                followers, {"author": author_id, "after": after, "maximum": FOLLOWERS_BATCH}
            ):
                store.remove([reader_id for _edge, reader_id in rows], [post_id])
                after = rows[-1][0]
    except SourceUnavailable as error:
        logger.warning("rows of post %s stay until they expire: %s", post_id, error)


def _follower_lists() -> tuple[str, str]:
    virtual = virtual_follows.table()
    return (
        _FOLLOWERS.format(reader="follower_id", table="graph_follower", author="owner_id"),
        _FOLLOWERS.format(reader="user_id", table=virtual, author="account_id"),
    )


def readers_with_span(reader_ids: Collection[int]) -> list[int]:
    """The readers in `reader_ids` who have a span, valid or not."""
    spans = TimelineSpan.objects.filter(reader__in=reader_ids).order_by("reader")
    return list(spans.values_list("reader", flat=True))


def purge(*, max_batches: int = 20) -> int:
    """Delete expired spans, then expired rows in PostgreSQL; returns the number of rows."""
    TimelineSpan.objects.filter(filled_at__lt=horizon()).delete()
    return postgresql.purge(max_batches=max_batches)


def _read(
    reader_id: int, *, newest: int, oldest: int, count: int, begins: str, ascending: bool = False
) -> Covered | None:
    """Read from the store; None if there is no such span, or if Cassandra does not respond."""
    bounds = {"newest": newest, "oldest": oldest, "count": count}
    try:
        return timeline_store().read(reader_id, **bounds, begins=begins, ascending=ascending)
    except SourceUnavailable as error:
        logger.info("could not read the second level of reader %s: %s", reader_id, error)
        return None


def _scalar(query: str, **values: Any) -> int | None:
    rows = rows_of(query, values)
    return rows[0][0] if rows else None
