"""What a viewer keeps, newest bookmark first. The cursor is the bookmark's id, not the post's."""

from apps.accounts.models import User
from apps.engagement.queries import bookmarks_page
from apps.paging import Cursor, Page
from apps.timeline.hydrate import hydrate
from apps.timeline.items import FeedItem


def bookmarks_timeline(viewer: User, cursor: Cursor) -> Page[FeedItem]:
    """A page of bookmarked posts; those that are gone are left out."""
    page = bookmarks_page(viewer.pk, cursor)
    return page.mapped(hydrate(viewer.pk, [bookmark.post_id for bookmark in page.items]).items)
