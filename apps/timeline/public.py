"""The public timeline: everything said to everybody, newest first (the article's "message square")."""

from apps.paging import Cursor, Page
from apps.timeline import pull
from apps.timeline.items import FeedItem
from apps.timeline.pages import fill_page, not_muted


def public_timeline(viewer_id: int | None, cursor: Cursor) -> Page[FeedItem]:
    """A page of all public posts."""
    return fill_page(pull.public_ids, viewer_id=viewer_id, cursor=cursor, rule=not_muted)
