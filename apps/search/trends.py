"""Trending posts: new public posts with the most likes, reposts and replies. Some are recommended, once per reader."""

import time

from django.db import connection, transaction

from apps.accounts.models import User
from apps.engagement.actions import mark_recommended
from apps.engagement.queries import recommended_earlier
from apps.filters.models import FilterContext
from apps.search.models import TrendingPost
from apps.sql import database_time
from apps.timeline.pipeline.facts import facts_now
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.rulebook import NOT_MUTED, passed
from feedcache.ids import first_id_at

HOURS = 48
MAX_TRENDING = 200

# A score falls with the age of the post: to half after 90 minutes, to a twentieth after a day. Each author has at most
# one trending post.
_RANK = """
INSERT INTO search_trendingpost (post_id, score)
SELECT id, score FROM (
    SELECT id, score, row_number() OVER (PARTITION BY author_id ORDER BY score DESC, id DESC) AS place
    FROM (
        SELECT p.id, p.author_id, (c.likes + 2 * c.reposts + c.replies)
               / power(2 + extract(epoch FROM %(now)s - p.created_at) / 3600, 1.2) AS score
        FROM posts_post p
        JOIN posts_postcounts c ON c.post_id = p.id AND c.author_id = p.author_id AND c.post_id >= %(first)s
        WHERE p.id >= %(first)s AND p.deleted_at IS NULL AND p.visibility = 'public' AND p.kind <> 'repost'
          AND p.hidden_at IS NULL AND p.reply_to_id IS NULL AND c.likes + c.reposts > 0
    ) liked
) ranked
WHERE place = 1
ORDER BY score DESC LIMIT %(limit)s
"""


def rank_posts() -> None:
    """Rank the posts of the last two days, in a single scan."""
    first = first_id_at(int(time.time()) - HOURS * 3600)
    with transaction.atomic(), connection.cursor() as sql:
        sql.execute("DELETE FROM search_trendingpost")
        sql.execute(_RANK, {"first": first, "limit": MAX_TRENDING, "now": database_time()})


def trending_posts(viewer: User | None, *, limit: int, offset: int = 0) -> list[FeedItem]:
    """Trending posts that a viewer may see, except those hidden by mutes, staff limits, or filters for public pages."""
    rows = TrendingPost.objects.order_by("-score", "-post_id")
    ids = list(rows.values_list("post_id", flat=True)[:MAX_TRENDING])
    found = hydrate(viewer.pk if viewer else None, ids)
    facts = facts_now(viewer, FilterContext.PUBLIC, found.relations)
    return passed(found.items, facts, NOT_MUTED)[offset : offset + limit]


def recommended_posts(viewer: User, *, limit: int) -> list[FeedItem]:
    """Trending posts that a viewer has neither read nor liked, by people whom the viewer does not follow.

    Each post is recommended once, because returned posts are marked in a Bloom filter. The filter wrongly leaves out
    one post in a hundred. While Redis is down, nothing is marked.
    """
    new = [
        item
        for item in trending_posts(viewer, limit=MAX_TRENDING)
        if not (item.follows_author or item.flags.own or item.flags.read or item.flags.liked)
    ]
    earlier = recommended_earlier(viewer.pk, [item.id for item in new])
    items = [item for item in new if item.id not in earlier][:limit]
    mark_recommended(viewer.pk, [item.id for item in items])
    return items
