"""Promoted posts on home timelines: which of them a reader may see now, and the count of what was shown.

They come from the same sources as posts of followees: this app makes the virtual follows. Which of them pass is decided
at every read: one without a `Promotion` is left out.
"""

import logging
from collections.abc import Mapping, Sequence
from functools import cache

from django.db import DatabaseError, connection, transaction

from apps.posts.content.post import PostContent
from apps.promotions.actions import MAX_COUNTED, count_impressions, digest
from apps.promotions.queries import (
    Promotion,
    ask_promotions,
    promotions_of,
    virtual_followee_ids,
)
from apps.timeline.pipeline.hooks import PromotionOf
from apps.timeline.pipeline.items import FeedItem
from feedcache.ids import author_of
from feedcache.read_through import Batch, Future

logger = logging.getLogger(__name__)

MAX_WAIT = "200ms"  # of a page for its count


def promotions_for(reader_id: int, batch: Batch | None) -> PromotionOf:
    """What brings a post of an account that is not followed: of each campaign only the newest is shown."""
    promotions = ask_promotions(batch, reader_id) if batch else _exact_promotions(reader_id)

    def promotion_of(post: PostContent) -> Promotion | None:
        promotion = promotions().get(post.author_id)
        is_shown = promotion is not None and promotion.newest_id == post.id
        return promotion if is_shown else None

    return promotion_of


def _exact_promotions(reader_id: int) -> Future[Mapping[int, Promotion]]:
    """From PostgreSQL, in one query when it is called; none for those who follow nobody virtually."""

    @cache
    def promotions() -> Mapping[int, Promotion]:
        return promotions_of(reader_id) if virtual_followee_ids(reader_id) else {}

    return promotions


def count_seen(reader_id: int, post_id: int, *, view: str) -> None:
    """Count a promoted post that was on the screen, once for each view of a page. Nothing else is counted."""
    promotion = promotions_of(reader_id).get(author_of(post_id))
    if promotion is not None and promotion.newest_id == post_id:
        count_impressions(reader_id, [promotion.campaign_id], page_id=f"{post_id} {view}")


def count_shown(reader_id: int, items: Sequence[FeedItem]) -> None:
    """Count the promoted posts that a program gets, once for each campaign and page. Never fails the page.

    The site's own pages say what was seen of them (`count_seen`).
    """
    promotions = [item.promotion for item in items if isinstance(item.promotion, Promotion)]
    if not promotions:
        return
    page_id = ",".join(str(item.id) for item in items)
    page = digest(page_id)
    campaigns = {one.campaign_id for one in promotions if page not in one.pages}
    if not campaigns:  # the same page again: nothing to write
        return
    try:
        with transaction.atomic():
            with connection.cursor() as sql:
                sql.execute("SELECT set_config('lock_timeout', %s, true)", [MAX_WAIT])
            count_impressions(reader_id, sorted(campaigns)[:MAX_COUNTED], page_id=page_id)
    except DatabaseError as error:
        logger.warning("impressions of a page were not counted: %s", error)
