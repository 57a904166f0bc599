"""Reads of engagement."""

from collections.abc import Collection
from dataclasses import dataclass, field

from django.db import connection

from apps.engagement.models import Bookmark
from apps.paging import Cursor, Page, page_of_rows

# Written out, like the relations: it runs on every page.
_ENGAGED = """
SELECT 'like', post_id FROM engagement_like WHERE user_id = %(viewer)s AND post_id = ANY(%(posts)s)
UNION ALL
SELECT 'bookmark', post_id FROM engagement_bookmark
WHERE user_id = %(viewer)s AND post_id = ANY(%(posts)s)
"""


@dataclass(frozen=True, slots=True)
class Engaged:
    """Which of some posts a viewer liked and bookmarked."""

    liked: set[int] = field(default_factory=set)
    bookmarked: set[int] = field(default_factory=set)


def engaged(viewer_id: int | None, post_ids: Collection[int]) -> Engaged:
    """What a viewer did with these posts, in one query; nothing for anonymous viewers."""
    if viewer_id is None or not post_ids:
        return Engaged()
    result = Engaged()
    with connection.cursor() as sql:
        sql.execute(_ENGAGED, {"viewer": viewer_id, "posts": list(post_ids)})
        for kind, post_id in sql.fetchall():
            (result.liked if kind == "like" else result.bookmarked).add(post_id)
    return result


def bookmarks_page(user_id: int, cursor: Cursor) -> Page[Bookmark]:
    """What a user keeps, newest bookmark first; the cursor is the bookmark's id."""
    return page_of_rows(Bookmark.objects.filter(user=user_id), cursor)
