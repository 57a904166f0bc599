"""Open posts of the last days, once on every shard of readers (source 004: post_rep, pull and push combined).

A reader's followees lie on as many shards as there are; asked one by one, a refresh is a query on each. Here a post is written
once per shard, not once per follower, and whatever a reader pulls is one query on the reader's own shard.

What may be said of a shard is its *mark*: every open post above it is there, or the event that brings it there is outstanding.
Those are united with what the shard has, so a shard that was away lacks nothing. The mark goes down while older posts are
filled in, to the end of the window, and rises with it.
"""

import time
from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.db import Error, connections

from apps.events.queries import pending_events
from apps.paging import Cursor
from apps.posts.models import OPEN, Post
from apps.timeline.models import PostReplica, ReplicaMark
from apps.timeline.sources import merge
from feedcache.ids import MAX_ID, author_of, first_id_at

SUBSCRIBER = "apps.timeline.handlers.replicate_post"  # brings posts here
DAY = 24 * 3600
BATCH = 5_000  # posts of one statement
MARGIN_SECONDS = 60  # a new mark lies above every post that is being written now

# One statement on one shard, a bounded scan of the key per author; nothing below the mark counts.
_NEWEST = """
SELECT mark.oldest, ARRAY(
    SELECT post.post_id
    FROM unnest(%(authors)s::bigint[]) author(id)
    CROSS JOIN LATERAL (
        SELECT post_id FROM timeline_postreplica
        WHERE author_id = author.id AND post_id < %(newest)s AND post_id > greatest(%(oldest)s, mark.oldest)
        ORDER BY post_id DESC LIMIT %(count)s
    ) post
    ORDER BY post.post_id DESC LIMIT %(count)s
)
FROM timeline_replicamark mark
"""

_INSERT = """
INSERT INTO timeline_postreplica (author_id, post_id, is_reply)
SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::boolean[]) ON CONFLICT DO NOTHING
"""


def shard_of(reader_id: int) -> str:
    """The database of a reader's replicas."""
    aliases: list[str] = settings.TIMELINE_SHARDS
    return aliases[reader_id % len(aliases)]


def newest(
    reader_id: int, author_ids: Collection[int], cursor: Cursor, count: int
) -> list[int] | None:
    """Up to `count` open ids of authors inside the bounds, newest first; None when the shard does not reach so far down."""
    late = _pending_events(author_ids, cursor)  # first: what is done since then is on the shard
    values: dict[str, Any] = {
        "authors": list(author_ids),
        "newest": MAX_ID if cursor.max_id is None else cursor.max_id,
        "oldest": cursor.floor,
        "count": count,
    }
    with connections[shard_of(reader_id)].cursor() as sql:
        sql.execute(_NEWEST, values)
        row = sql.fetchone()
    if row is None:
        return None
    mark, there = row
    # what is late may lie below the mark; the shard answers above it
    ids = merge.page([there, [one for one in late if one > mark]], count)
    return ids if len(ids) == count or mark <= cursor.floor else None


def _pending_events(author_ids: Collection[int], cursor: Cursor) -> list[int]:
    payloads = pending_events(["post_published"], SUBSCRIBER).values_list("payload", flat=True)
    late = [payload["post_id"] for payload in payloads]
    authors = set(author_ids)
    wanted = [one for one in late if author_of(one) in authors and cursor.admits(one)]
    if not wanted:
        return []
    rows = Post.objects.filter(pk__in=wanted, visibility__in=OPEN, deleted_at=None)
    return list(rows.order_by("-pk").values_list("pk", flat=True))


def enter(post_id: int) -> None:
    """Write an open post once on every shard; those that answer have it, whatever becomes of the others.

    Raises what the first failing shard raised, so that the event is tried again.
    """
    rows = Post.objects.filter(pk=post_id, visibility__in=OPEN, deleted_at=None)
    found = [_row(*one) for one in rows.values_list("pk", "author", "reply_to")]
    _everywhere(lambda alias: _insert(alias, found))
    if found and not rows.exists():  # deleted meanwhile, and perhaps before there was a row
        leave(post_id)


def leave(post_id: int) -> None:
    """Take a deleted post from every shard; reads skip it already."""
    found = PostReplica.objects.filter(author_id=author_of(post_id), post_id=post_id)
    _everywhere(lambda alias: found.using(alias).delete())


def maintain(*, max_batches: int = 4) -> None:
    """Move every shard's mark towards the end of the window, as far as a turn goes: fill in above it, delete below it."""
    _everywhere(lambda alias: _tend(alias, max_batches))


def _tend(alias: str, max_batches: int) -> None:
    now = int(time.time())
    end = first_id_at((now // DAY - settings.TIMELINE_ENTRY_DAYS) * DAY)  # moves once a day
    above_all = {"oldest": first_id_at(now + MARGIN_SECONDS)}
    mark, _created = ReplicaMark.objects.using(alias).get_or_create(defaults=above_all)
    for _batch in range(max_batches):
        if mark.oldest > end:
            mark.oldest = _fill(alias, mark.oldest, end)
            mark.save(using=alias)
    if mark.oldest < end:
        mark.oldest = end
        mark.save(using=alias)  # first nothing is said of them any more
    _purge(alias, end, max_batches)


def _fill(alias: str, mark: int, end: int) -> int:
    """Fill in the next batch below a mark; the new mark."""
    rows = Post.objects.filter(pk__lte=mark, pk__gt=end, visibility__in=OPEN, deleted_at=None)
    batch = rows.order_by("-pk").values_list("pk", "author", "reply_to")[:BATCH]
    found = [_row(*one) for one in batch]
    _insert(alias, found)
    return found[-1].post_id - 1 if len(found) == BATCH else end


def _purge(alias: str, end: int, max_batches: int) -> None:
    old = PostReplica.objects.using(alias).filter(post_id__lte=end)
    for _batch in range(max_batches):
        ids = list(old.values_list("post_id", flat=True)[:BATCH])
        old.filter(post_id__in=ids).delete()
        if len(ids) < BATCH:
            return


def _row(post_id: int, author_id: int, reply_to: int | None) -> PostReplica:
    return PostReplica(author_id=author_id, post_id=post_id, is_reply=reply_to is not None)


def _insert(alias: str, rows: list[PostReplica]) -> None:
    if not rows:
        return
    with connections[alias].cursor() as sql:  # one statement, so no transaction around it
        columns = zip(*((one.author_id, one.post_id, one.is_reply) for one in rows), strict=True)
        sql.execute(_INSERT, [list(column) for column in columns])


def _everywhere(work: Any) -> None:
    failed: list[Error] = []
    for alias in settings.TIMELINE_SHARDS:
        try:
            work(alias)
        except Error as error:
            failed.append(error)
    if failed:
        raise failed[0]
