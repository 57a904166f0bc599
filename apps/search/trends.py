"""Which public posts are liked and passed on most now."""

import time

from django.db import connection, transaction

from apps.search.models import TrendingPost
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import not_muted
from feedcache.ids import first_id_at

HOURS = 48
MAX_TRENDING = 200

# A post loses half of its weight in about a day; each author has one.
_RANK = """
INSERT INTO search_trendingpost (post_id, score)
SELECT id, score FROM (
    SELECT p.id, row_number() OVER (PARTITION BY p.author_id ORDER BY weight.score DESC, p.id DESC) AS place, weight.score
    FROM posts_post p
    JOIN posts_postcounts c ON c.post_id = p.id
    CROSS JOIN LATERAL (
        SELECT (c.likes + 2 * c.reposts + c.replies) / power(2 + extract(epoch FROM now() - p.created_at) / 3600, 1.2) AS score
    ) weight
    WHERE p.id >= %(first)s AND p.deleted_at IS NULL AND p.visibility = 'public' AND p.kind <> 'repost'
      AND p.reply_to_id IS NULL AND c.likes + c.reposts > 0
) ranked
WHERE place = 1
ORDER BY score DESC LIMIT %(kept)s
"""


def rank_posts() -> None:
    """Rank the posts of the last two days anew: one scan of them, every few minutes."""
    first = first_id_at(int(time.time()) - HOURS * 3600)
    with transaction.atomic(), connection.cursor() as sql:
        sql.execute("DELETE FROM search_trendingpost")
        sql.execute(_RANK, {"first": first, "kept": MAX_TRENDING})


def trending_posts(viewer_id: int | None, *, limit: int, offset: int = 0) -> list[FeedItem]:
    """The posts that are liked and passed on most, as far as a viewer may see and wants to see them."""
    rows = TrendingPost.objects.order_by("-score", "-post_id")
    found = hydrate(viewer_id, list(rows.values_list("post_id", flat=True)[:MAX_TRENDING]))
    shown = [item for item in found.items if not_muted(item, found.relations)]
    return shown[offset : offset + limit]
