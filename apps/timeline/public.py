"""Public timelines, newest first: the article's "message square" of all public posts, and those with a tag.

The ids of the square come from a window in Redis; those of posts with pictures, and those of tags, from PostgreSQL, one
bounded scan per tag.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from apps import replicas
from apps.accounts.models import User
from apps.filters.models import FilterContext
from apps.graph.queries import Relations
from apps.pagination import Cursor, Page
from apps.posts.models import Visibility
from apps.tags.models import Tag
from apps.tags.queries import public_post_ids, tag_named
from apps.timeline.pipeline.page import FeedItem, Reader, fill_page, without_muted
from apps.timeline.sources import merge, square

MAX_NAMES = 4  # more, in each of `any_of`, `all_of`, `none_of`


def public_timeline(
    viewer: User | None, cursor: Cursor, *, only_media: bool = False
) -> Page[FeedItem]:
    read = partial(square.stored_ids, only_media=True) if only_media else square.ids
    source = partial(read, viewer.pk if viewer else None)
    return fill_page(source, Reader(viewer, FilterContext.PUBLIC), cursor=cursor, rule=_public)


def _public(items: Sequence[FeedItem], relations: Relations) -> list[FeedItem]:
    """Whatever the window says: a follower may see more than belongs here."""
    return [
        item
        for item in without_muted(items, relations)
        if item.post.visibility == Visibility.PUBLIC and not item.is_repost
    ]


@dataclass(frozen=True, slots=True)
class TagQuery:
    """Posts with `name` or one of `any_of`; with each of `all_of`, and none of `none_of`. All are normal names."""

    name: str
    any_of: Sequence[str] = ()
    all_of: Sequence[str] = ()
    none_of: Sequence[str] = ()
    only_media: bool = False


def tag_timeline(viewer: User | None, query: TagQuery, cursor: Cursor) -> Page[FeedItem]:
    """A page of the posts with a tag. NotFound when one of the names is not a valid tag."""
    tags = [tag_named(name) for name in dict.fromkeys((query.name, *query.any_of))]
    viewer_id = viewer.pk if viewer else None
    source = partial(_tagged_ids, viewer_id, [tag for tag in tags if tag.pk])
    reader = Reader(viewer, FilterContext.PUBLIC)
    return fill_page(source, reader, cursor=cursor, rule=partial(_matching, query))


def _tagged_ids(viewer_id: int | None, tags: list[Tag], cursor: Cursor, count: int) -> list[int]:
    """Up to `count` ids inside the cursor's bounds, in reading order."""
    lists = replicas.read(
        viewer_id,
        lambda db: [public_post_ids(tag.pk, cursor, count, database=db) for tag in tags],
    )
    return merge.first_ids(lists, count, ascending=cursor.ascending)


def _matching(query: TagQuery, items: Sequence[FeedItem], relations: Relations) -> list[FeedItem]:
    return [
        item
        for item in without_muted(items, relations)
        if item.post.tags.keys() >= set(query.all_of)
        and item.post.tags.keys().isdisjoint(query.none_of)
        and (item.post.pictures or not query.only_media)
    ]
