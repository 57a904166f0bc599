"""What a viewer keeps or likes, newest mark first. The cursor is the mark's id, not the post's."""

from apps.accounts.models import User
from apps.engagement.models import Bookmark, Like
from apps.engagement.queries import bookmarks_page, likes_page
from apps.paging import Cursor, Page
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem


def bookmarks_timeline(viewer: User, cursor: Cursor) -> Page[FeedItem]:
    """A page of bookmarked posts; those that are gone are left out."""
    return _posts(viewer, bookmarks_page(viewer.pk, cursor))


def favourites_timeline(viewer: User, cursor: Cursor) -> Page[FeedItem]:
    """A page of liked posts; those that are gone are left out."""
    return _posts(viewer, likes_page(viewer.pk, cursor))


def _posts(viewer: User, page: Page[Bookmark] | Page[Like]) -> Page[FeedItem]:
    return page.mapped(hydrate(viewer.pk, [mark.post_id for mark in page.items]).items)
