"""Counts the uses of tags, day by day: what trends and histories are made of."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.db import connection, transaction

from feedcache.ids import MAX_AUTHOR_ID, SEQUENCE_BITS, first_id_at

DAYS_COUNTED = 2  # today, and yesterday: its last posts may be younger than the last count
KEEP_DAYS = 30

# The author and the second of a post are in its id. A tag that has lost all its uses of the day keeps a zero.
# Suspended authors do not count.
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


def count_days(days: int = DAYS_COUNTED) -> None:
    """Count the uses of the last days again, in one scan of each day's posts, and drop what is older than a month."""
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
