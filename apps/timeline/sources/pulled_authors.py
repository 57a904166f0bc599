"""Posts of merged authors, pulled from their outboxes at reading, to be joined with what windows hold (source 003: 2 + N)."""

import logging
from collections.abc import Collection
from functools import partial

from django.conf import settings
from django.db import DatabaseError, connection, connections

from apps.deadline import note_missing, seconds_left
from apps.graph.queries import MAX_OTHERS, relations
from apps.paging import Cursor
from apps.timeline.policy import PoliciesInForce
from apps.timeline.sources import outbox
from feedcache.bulkhead import Bulkhead, SourceUnavailable
from feedcache.redis_servers.connections import RedisError

logger = logging.getLogger(__name__)

SOURCE = "merged-authors"
# Their own few threads: when this path hangs, it holds no thread that serves pages.
PULLED = Bulkhead(SOURCE, max_concurrency=4, after=connections.close_all)


def ids(
    reader_id: int, now: PoliciesInForce, cursor: Cursor, count: int, *, revision: int | None = None
) -> list[int]:
    """Up to `count` public ids of the merged authors whom a reader follows, inside the cursor's bounds, in reading order."""
    if now.pulls_all:
        return outbox.page_of_followees(reader_id, cursor, count)
    authors = _followed(reader_id, now.merged, revision)
    return outbox.page_of(authors, cursor, count) if authors else []


def ids_in_time(
    reader_id: int, now: PoliciesInForce, cursor: Cursor, count: int, *, revision: int | None = None
) -> list[int]:
    """The same behind a bulkhead: none, and the page says that they are missing, when they do not come in time.

    What is in the windows is shown all the same, and what is missing comes with a later read (source 003: when the path
    to a few large accounts hangs, everybody else's posts must still be there). When all outboxes are merged they are
    the page itself: then they are waited for.
    """
    work = partial(ids, reader_id, now, cursor, count, revision=revision)
    if (
        now.pulls_all or connection.in_atomic_block
    ):  # another thread would not see what is not committed
        return work()
    try:
        return PULLED.call(work, seconds=seconds_left(settings.MERGED_AUTHORS_SECONDS))
    except (SourceUnavailable, RedisError, DatabaseError) as error:
        logger.info("home of %s without merged authors: %s", reader_id, error)
        note_missing(SOURCE)
        return []


def _followed(reader_id: int, authors: Collection[int], revision: int | None) -> set[int]:
    """Of some authors, those whom a reader follows: from Redis, as of the reader's `graph_revision`."""
    asked, found = sorted(authors), set()
    for start in range(0, len(asked), MAX_OTHERS):
        batch = asked[start : start + MAX_OTHERS]
        found |= relations(reader_id, batch, revision=revision).following
    return found
