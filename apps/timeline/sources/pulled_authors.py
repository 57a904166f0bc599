"""Posts of pulled authors: each page merges its two windows with the outboxes of N authors (source 003: 2+N reads)."""

import logging
from collections.abc import Collection
from functools import partial

from django.conf import settings
from django.db import DatabaseError, connection, connections

from apps.deadline import note_missing, seconds_left
from apps.graph.queries import MAX_OTHERS, followee_ids, relations
from apps.pagination import Cursor
from apps.timeline.policy import PoliciesInForce
from apps.timeline.sources import outbox, virtual_follows
from feedcache.breaker import Bulkhead, SourceUnavailable
from feedcache.connections import RedisError

logger = logging.getLogger(__name__)

SOURCE = "merged-authors"
# Separate threads, so that reads that hang do not block the threads that serve pages.
PULLED = Bulkhead(SOURCE, max_concurrency=4, after=connections.close_all)


def ids(
    reader_id: int,
    policies: PoliciesInForce,
    cursor: Cursor,
    count: int,
    *,
    revision: int | None = None,
) -> list[int]:
    """Up to `count` ids of open posts by the pulled authors a reader follows, within the cursor and in its order.

    If all authors are pulled, the reader's own posts are included.
    """
    if policies.pulls_all:
        authors = {reader_id, *followee_ids(reader_id, revision=revision)}
        authors.update(virtual_follows.followee_ids(reader_id))
    else:
        authors = _followed(reader_id, policies.pulled, revision)
    return outbox.ids_of_authors(authors, cursor, count) if authors else []


def ids_within_deadline(
    reader_id: int,
    policies: PoliciesInForce,
    cursor: Cursor,
    count: int,
    *,
    revision: int | None = None,
) -> list[int]:
    """`ids` behind a bulkhead. If the read fails or takes too long, return no ids and mark the page as incomplete.

    The home cache is still shown, and a later read has the rest (source 003: if the path to a few large accounts hangs,
    all other posts must still be shown). If all authors are pulled, the page waits, because it would have no open post.
    """
    work = partial(ids, reader_id, policies, cursor, count, revision=revision)
    if policies.pulls_all or connection.in_atomic_block:  # another thread sees only committed rows
        return work()
    try:
        return PULLED.call(work, seconds=seconds_left(settings.MERGED_AUTHORS_SECONDS))
    except (SourceUnavailable, RedisError, DatabaseError) as error:
        logger.info("home of %s without pulled authors: %s", reader_id, error)
        note_missing(SOURCE)
        return []


def _followed(reader_id: int, author_ids: Collection[int], revision: int | None) -> set[int]:
    """The authors in `author_ids` that a reader follows, really (from Redis at the `graph_revision`) or virtually."""
    ordered = sorted(author_ids)
    followed = set(author_ids).intersection(virtual_follows.followee_ids(reader_id))
    for start in range(0, len(ordered), MAX_OTHERS):
        batch = ordered[start : start + MAX_OTHERS]
        followed |= relations(reader_id, batch, revision=revision).following
    return followed
