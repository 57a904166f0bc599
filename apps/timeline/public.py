"""The public timeline: all public posts, newest first (the article's "message square")."""

from functools import partial

from apps.paging import Cursor, Page
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import fill_page, not_muted
from apps.timeline.sources import sql


def public_timeline(
    viewer_id: int | None, cursor: Cursor, *, only_media: bool = False
) -> Page[FeedItem]:
    source = partial(sql.public_ids, only_media=only_media)
    return fill_page(source, viewer_id=viewer_id, cursor=cursor, rule=not_muted)
