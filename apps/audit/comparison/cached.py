"""Compares cached values with PostgreSQL.

If readers of a cache check revisions, a value with an old revision is not a fault, because they reject it. Each cache
is read before the tables, so a change in between makes a correct value look wrong; this is why the auditor compares
three times.
"""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from apps.accounts.cache import CARDS, forget_cards, load_cards
from apps.accounts.models import UserCounts
from apps.accounts.queries import users_by_id
from apps.audit.hooks import CACHES, AuditedCache, Compared
from apps.audit.models import Subject
from apps.posts.cache import CACHED_POSTS, GONE, RECENT, load_cached_posts, load_contents
from apps.posts.content.post import decode
from apps.posts.recent import open_posts_in, weeks_read
from apps.timeline.sources import outbox
from apps.timeline.sources.outbox import LONG_OUTBOXES, SHORT_OUTBOXES, Outboxes
from feedcache.structures.id_vector import IdVector
from feedcache.structures.week_bucket import Bucket, Week


def _compare_posts(post_ids: Collection[int]) -> Compared:
    """Compare cached posts. For a post without a row, a tombstone is correct."""
    cached = CACHED_POSTS.peek_many(post_ids)
    rows = load_cached_posts(list(cached))
    return len(cached), {key for key, entry in cached.items() if entry != rows.get(key, GONE)}


def _compare_cards(user_ids: Collection[int]) -> Compared:
    """Compare the cards (public columns) of accounts, except `last_open_post_id`, which may be out of date."""
    cached = CARDS.peek_many(user_ids)
    rows = load_cards(list(cached))
    return len(cached), {
        key
        for key, card in cached.items()
        if key not in rows or card != replace(rows[key], last_open_post_id=card.last_open_post_id)
    }


def _compare_outboxes(author_ids: Collection[int]) -> Compared:
    total, wrong = 0, set[int]()
    for outboxes, may_be_behind in ((SHORT_OUTBOXES, False), (LONG_OUTBOXES, True)):
        compared, differ = _compare_vectors(outboxes, author_ids, may_be_behind=may_be_behind)
        total += compared
        wrong |= differ
    return total, wrong


def _compare_vectors(
    outboxes: Outboxes, author_ids: Collection[int], *, may_be_behind: bool
) -> Compared:
    found = outboxes.peek_many(author_ids).items()
    cached = {author_id: vector for author_id, vector in found if not vector.is_unknown}
    rows = outbox.load(outboxes.length, list(cached))
    wrong = {
        author_id
        for author_id, vector in cached.items()
        if author_id not in rows
        or not _agrees(vector, rows[author_id], may_be_behind=may_be_behind)
    }
    return len(cached), wrong


def _agrees(vector: IdVector, row: IdVector, *, may_be_behind: bool) -> bool:
    """Whether a cached vector agrees with the database. With `may_be_behind`, the vector may have an older revision."""
    if vector.revision != row.revision:
        return may_be_behind and vector.revision < row.revision
    common = min(len(vector), len(row))
    if not np.array_equal(vector.entries[:common], row.entries[:common]):
        return False
    return not (
        vector.complete and len(vector) < len(row) or row.complete and len(vector) > len(row)
    )


def _compare_weeks(author_ids: Collection[int]) -> Compared:
    total, wrong = 0, set[int]()
    for author_id, author in users_by_id(author_ids).items():
        weeks = weeks_read(author.counts)
        for week, bucket in zip(weeks, RECENT.read(author_id, weeks), strict=True):
            if bucket is not None and bucket.is_cached:
                total += 1
                if not _is_right(author_id, week, bucket):
                    wrong.add(author_id)
    return total, wrong


def _is_right(author_id: int, week: Week, bucket: Bucket) -> bool:
    ids = open_posts_in(author_id, week).values_list("pk", flat=True)
    contents = load_contents(list(ids))
    revision = UserCounts.objects.values_list("outbox_revision", flat=True).get(pk=author_id)
    if bucket.revision != revision:
        return bucket.revision < revision
    return {post_id: decode(value) for post_id, value in bucket.values.items()} == contents


def _forget_weeks(author_id: int) -> None:
    for author in users_by_id([author_id]).values():
        RECENT.drop(author_id, weeks_read(author.counts))


_CACHES = (
    AuditedCache(
        "post",
        Subject.POSTS,
        _compare_posts,
        lambda post_id: CACHED_POSTS.delete_many([post_id]),
    ),
    AuditedCache("card", Subject.ACCOUNTS, _compare_cards, lambda user_id: forget_cards([user_id])),
    AuditedCache("outbox", Subject.ACCOUNTS, _compare_outboxes, outbox.forget),
    AuditedCache("week", Subject.ACCOUNTS, _compare_weeks, _forget_weeks),
)


def caches() -> dict[str, AuditedCache]:
    """All caches that are compared, by name. Suspects (`auditor.Suspect`) store the name."""
    return {cache.name: cache for cache in (*_CACHES, *CACHES)}
