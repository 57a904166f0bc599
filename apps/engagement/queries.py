"""Reads of engagement."""

from collections.abc import Collection
from dataclasses import dataclass, field

from django.db.models import CharField, Value

from apps.engagement.models import Bookmark, Like
from apps.paging import Cursor, Page, page_of_rows


@dataclass(frozen=True, slots=True)
class Engaged:
    """Which of some posts a viewer liked and bookmarked."""

    liked: set[int] = field(default_factory=set)
    bookmarked: set[int] = field(default_factory=set)


def engaged(viewer_id: int | None, post_ids: Collection[int]) -> Engaged:
    """What a viewer did with these posts, in one query; nothing for anonymous viewers."""
    if viewer_id is None or not post_ids:
        return Engaged()
    likes, bookmarks = (
        model.objects.filter(user=viewer_id, post__in=post_ids)
        .order_by()
        .annotate(kind=Value(kind, CharField()))
        .values_list("kind", "post_id")
        for model, kind in ((Like, "like"), (Bookmark, "bookmark"))
    )
    result = Engaged()
    for kind, post_id in likes.union(bookmarks, all=True):
        (result.liked if kind == "like" else result.bookmarked).add(post_id)
    return result


def bookmarks_page(user_id: int, cursor: Cursor) -> Page[Bookmark]:
    """What a user keeps, newest bookmark first; the cursor is the bookmark's id."""
    return page_of_rows(Bookmark.objects.filter(user=user_id), cursor)
