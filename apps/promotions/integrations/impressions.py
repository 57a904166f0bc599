"""Counts impressions of promoted posts on home pages."""

import logging
from collections.abc import Sequence

from django.db import DatabaseError, connection, transaction

from apps.promotions.actions import MAX_COUNTED, count_impressions, digest
from apps.promotions.queries import Promotion, promotions_of
from apps.timeline.pipeline.items import FeedItem
from feedcache.ids import author_of

logger = logging.getLogger(__name__)

MAX_WAIT = "200ms"  # how long a page may wait for a lock to count


def count_seen(reader_id: int, post_id: int, *, view: str) -> None:
    """Count a promoted post that was on the screen, once for each view of a page; other posts are ignored."""
    promotion = promotions_of(reader_id).get(author_of(post_id))
    if promotion is not None and promotion.newest_id == post_id:
        count_impressions(reader_id, [promotion.campaign_id], page_id=f"{post_id} {view}")


def count_shown(reader_id: int, items: Sequence[FeedItem]) -> None:
    """Count the promoted posts sent to a client of the API, once for each campaign and page. Logs database errors.

    The site's own pages instead report which promoted posts have been on the screen (`count_seen`).
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
        logger.warning("could not count the impressions of a page: %s", error)
