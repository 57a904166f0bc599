"""Trending tags: counts the uses of each tag per day, and finds the tags that the most accounts currently use."""

import logging
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.db import connection, transaction

from apps.tags.models import Tag, TagDay
from apps.tags.queries import TagUsage, publicly_used, tag_usages
from feedcache.connections import RedisError, configuration
from feedcache.ids import MAX_AUTHOR_ID, SEQUENCE_BITS, first_id_at
from feedcache.local_cache import LocalCache
from feedcache.servers.topology_listener import current, listener

logger = logging.getLogger(__name__)

TRENDING_DAYS = 2
MAX_TRENDING = 100
MAX_CACHED_TRENDING = 10
TRENDING_CACHE_SECONDS = 60.0
TRENDING_CHANNEL = "trending-tags"
DAYS_COUNTED = 2  # also yesterday, whose last posts may be newer than the last count
KEEP_DAYS = 30

TRENDING_CACHE: "LocalCache[str, list[TagUsage]]" = LocalCache(
    maximum=1, ttl_seconds=TRENDING_CACHE_SECONDS
)

# A post id contains its author and its time. If all uses of a tag on a day are gone, the count becomes zero. Posts by
# suspended authors are not counted.
_COUNT = """
WITH counted AS (
    SELECT tag_id, count(*) AS uses, count(DISTINCT post_id >> %(bits)s & %(authors)s) AS accounts
    FROM tags_taguse JOIN accounts_user author ON author.id = (post_id >> %(bits)s & %(authors)s)
    WHERE author.suspended_at IS NULL AND post_id >= %(first)s AND post_id < %(after)s AND is_public
    GROUP BY tag_id
)
INSERT INTO tags_tagday (tag_id, day, uses, accounts)
SELECT tag_id, %(day)s, uses, accounts FROM counted
UNION ALL
SELECT tag_id, day, 0, 0 FROM tags_tagday WHERE day = %(day)s AND tag_id NOT IN (SELECT tag_id FROM counted)
ON CONFLICT (tag_id, day) DO UPDATE SET uses = excluded.uses, accounts = excluded.accounts
"""


def trending_tags(*, maximum: int, offset: int = 0) -> list[Tag]:
    """The tags that the most accounts used today and yesterday, from the top 100 of each day."""
    today = datetime.now(UTC).date()
    days = [today - timedelta(days=back) for back in range(TRENDING_DAYS)]
    scores: dict[int, tuple[int, int]] = {}
    for day in days:
        rows = TagDay.objects.filter(day=day, uses__gt=0).order_by("-accounts", "-uses")[
            :MAX_TRENDING
        ]
        for row in rows:
            accounts, uses = scores.get(row.tag_id, (0, 0))
            scores[row.tag_id] = accounts + row.accounts, uses + row.uses
    # the counts may be minutes old, so public use is checked again
    tags = publicly_used(Tag.objects.filter(pk__in=scores)).in_bulk()
    ranked = sorted(tags, key=lambda tag_id: (scores[tag_id], tag_id), reverse=True)
    return [tags[tag_id] for tag_id in ranked[offset : offset + maximum]]


def cached_trending_tags() -> list[TagUsage]:
    """The ten tags that the most accounts currently use, as visitors see them, for the side column of every page.

    They are cached for a minute, and their counts may be some minutes older. But a tag disappears with its last public
    use (`clear_cached_trending_tags`).
    """
    listener().subscribe_channel(TRENDING_CHANNEL, _clear)
    current()  # starts the listener of this process
    return (
        TRENDING_CACHE.get(
            "",
            lambda: tag_usages(trending_tags(maximum=MAX_CACHED_TRENDING), None, are_in_use=True),
        )
        or []
    )


def clear_cached_trending_tags() -> None:
    """Clear the cache of trending tags in this process and, by a message, in all others."""
    TRENDING_CACHE.clear()
    try:
        configuration().publish(TRENDING_CHANNEL, b"")
    except RedisError as error:
        logger.warning("trending tags may be a minute old: %s", error)


def _clear(_message: bytes | None) -> None:
    TRENDING_CACHE.clear()


def count_days(days: int = DAYS_COUNTED) -> None:
    """Recount the uses of the last days, scanning each day's uses once, and delete counts older than a month."""
    today = datetime.now(UTC).date()
    with transaction.atomic(), connection.cursor() as sql:
        for back in range(days):
            day = today - timedelta(days=back)
            start = int(datetime.combine(day, time(), UTC).timestamp())
            values: dict[str, Any] = {
                "first": first_id_at(start),
                "after": first_id_at(start + 86_400),
                "bits": SEQUENCE_BITS,
                "authors": MAX_AUTHOR_ID,
                "day": day,
            }
            sql.execute(_COUNT, values)
        oldest = today - timedelta(days=KEEP_DAYS)
        sql.execute("DELETE FROM tags_tagday WHERE day < %s", [oldest])
