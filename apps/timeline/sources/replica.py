"""The ids of the open posts of the last days, on every shard of readers (source 004: post_rep, pull and push combined).

The shards are the databases in `TIMELINE_SHARDS`, not those of Citus (`manage distribute`). If there are none, no
replicas are written or read.

A post is written once per shard, not once per follower. The replicas are read when the home cache of a reader with many
followees is rebuilt and Memcached lacks most of their outboxes: one query on the reader's own shard. Without replicas,
the main database is queried (with Citus, each server that has followees of the reader).

Every open post above the *mark* of a shard is on that shard, or the event that writes it is pending. A read adds the
posts of pending events, so no post is missing even after a shard was down. While older posts are filled in, the mark
moves down to the end of the retention period; later it moves up with that end.
"""

import logging
import time
from collections.abc import Callable, Collection
from typing import Any

from django.conf import settings
from django.db import Error, InterfaceError, OperationalError, connections

from apps.events.leases import RetryLater
from apps.events.queries import pending_events
from apps.pagination import Cursor
from apps.posts.models import OPEN, Post
from apps.timeline.models import PostReplica, ReplicaMark
from apps.timeline.sources import merge
from feedcache.ids import MAX_ID, author_of, first_id_at

logger = logging.getLogger(__name__)

SUBSCRIBER = "apps.timeline.handlers.replicate_post"  # calls `add`
DAY_SECONDS = 24 * 3600
BATCH_SIZE = 5_000  # posts per statement
MARGIN_SECONDS = 60  # a new mark is this far in the future, above posts being written now

# One statement on one shard, with a bounded scan of the key for each author. Posts below the mark do not count.
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


def is_used() -> bool:
    return bool(settings.TIMELINE_SHARDS)


def shard_of(reader_id: int) -> str:
    """The database alias of a reader's replicas."""
    aliases: list[str] = settings.TIMELINE_SHARDS
    return aliases[reader_id % len(aliases)]


def newest(
    reader_id: int, author_ids: Collection[int], cursor: Cursor, count: int
) -> list[int] | None:
    """Up to `count` ids of authors' open posts in the cursor's bounds.

    None if the reader's shard does not reach that far or does not answer.
    """
    # read before the shard: if an event is not pending now, its post is already on the shard
    pending = _pending_ids(author_ids, cursor)
    values: dict[str, Any] = {
        "authors": list(author_ids),
        "newest": MAX_ID if cursor.max_id is None else cursor.max_id,
        "oldest": cursor.floor,
        "count": count,
    }
    try:
        with connections[shard_of(reader_id)].cursor() as sql:
            sql.execute(_NEWEST, values)
            row = sql.fetchone()
    except Error as error:
        logger.warning("%s has no replicas for a reader: %s", shard_of(reader_id), error)
        return None
    if row is None:
        return None
    mark, replicated = row
    # pending posts may be below the mark, where the shard is incomplete
    ids = merge.first_ids([replicated, [post_id for post_id in pending if post_id > mark]], count)
    return ids if len(ids) == count or mark <= cursor.floor else None


def _pending_ids(author_ids: Collection[int], cursor: Cursor) -> list[int]:
    payloads = pending_events(["post_published"], SUBSCRIBER).values_list("payload", flat=True)
    authors = set(author_ids)
    pending = [
        payload["post_id"]
        for payload in payloads
        if author_of(payload["post_id"]) in authors and cursor.admits(payload["post_id"])
    ]
    if not pending:
        return []
    rows = Post.objects.filter(pk__in=pending, visibility__in=OPEN, deleted_at=None)
    return list(rows.order_by("-pk").values_list("pk", flat=True))


def add(post_id: int) -> None:
    """Write an open post once on every shard.

    Try all shards, then raise the first error, so that the event runs again. If a shard is down, this is RetryLater,
    because an outage may outlast the attempts of an event.
    """
    posts = Post.objects.filter(pk=post_id, visibility__in=OPEN, deleted_at=None)
    rows = [_row(*values) for values in posts.values_list("pk", "author", "reply_to")]
    _on_every_shard(lambda alias: _insert(alias, rows))
    if rows and not posts.exists():  # deleted in the meantime, perhaps before the row was written
        remove(post_id)


def remove(post_id: int) -> None:
    """Delete a post from every shard. Pages already skip it."""
    rows = PostReplica.objects.filter(author_id=author_of(post_id), post_id=post_id)
    _on_every_shard(lambda alias: rows.using(alias).delete())


def maintain(*, max_batches: int = 4) -> None:
    """Move every shard's mark towards the end of the retention period: fill in or purge a few batches."""
    _on_every_shard(lambda alias: _maintain(alias, max_batches))


def _maintain(alias: str, max_batches: int) -> None:
    now = int(time.time())
    last_day = now // DAY_SECONDS - settings.TIMELINE_ENTRY_DAYS
    end = first_id_at(last_day * DAY_SECONDS)  # moves once a day
    above_all = {"oldest": first_id_at(now + MARGIN_SECONDS)}
    mark, _created = ReplicaMark.objects.using(alias).get_or_create(defaults=above_all)
    for _batch in range(max_batches):
        if mark.oldest > end:
            mark.oldest = _fill(alias, mark.oldest, end)
            mark.save(using=alias)
    if mark.oldest < end:
        mark.oldest = end
        mark.save(using=alias)  # saved before the deletions, because reads stop at the mark
    _purge(alias, end, max_batches)


def _fill(alias: str, mark: int, end: int) -> int:
    """Write the next batch below a mark and return the new mark."""
    posts = Post.objects.filter(pk__lte=mark, pk__gt=end, visibility__in=OPEN, deleted_at=None)
    batch = posts.order_by("-pk").values_list("pk", "author", "reply_to")[:BATCH_SIZE]
    rows = [_row(*values) for values in batch]
    _insert(alias, rows)
    return rows[-1].post_id - 1 if len(rows) == BATCH_SIZE else end


def _purge(alias: str, end: int, max_batches: int) -> None:
    old = PostReplica.objects.using(alias).filter(post_id__lte=end)
    for _batch in range(max_batches):
        ids = list(old.values_list("post_id", flat=True)[:BATCH_SIZE])
        old.filter(post_id__in=ids).delete()
        if len(ids) < BATCH_SIZE:
            return


def _row(post_id: int, author_id: int, reply_to: int | None) -> PostReplica:
    return PostReplica(author_id=author_id, post_id=post_id, is_reply=reply_to is not None)


def _insert(alias: str, rows: list[PostReplica]) -> None:
    if not rows:
        return
    columns = zip(*((row.author_id, row.post_id, row.is_reply) for row in rows), strict=True)
    with connections[alias].cursor() as sql:
        sql.execute(_INSERT, [list(column) for column in columns])


def _on_every_shard(work: Callable[[str], object]) -> None:
    errors: list[Error] = []
    for alias in settings.TIMELINE_SHARDS:
        try:
            work(alias)
        except Error as error:
            errors.append(error)
    if errors and isinstance(errors[0], OperationalError | InterfaceError):
        raise RetryLater(f"a shard does not answer: {errors[0]}") from errors[0]
    if errors:
        raise errors[0]
