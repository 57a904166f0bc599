"""Public timelines: the "message square" (source 003) of all public posts except reposts, and the timelines of tags.

The newest ids of the square come from a window in Redis. Older ids, and those of posts with media or with a tag (by one
bounded scan per tag), come from PostgreSQL.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from apps import replicas
from apps.accounts.models import User
from apps.filters.models import FilterContext
from apps.pagination import Cursor, Page
from apps.posts.models import Visibility
from apps.tags.models import Tag
from apps.tags.queries import public_post_ids, tag_named
from apps.timeline.pipeline import rulebook
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import Reader, fill_page
from apps.timeline.sources import merge, square
from apps.timeline.sources.found import stored

MAX_NAMES = 4  # in each of `any_of`, `all_of` and `none_of`; the API ignores the rest


def public_timeline(
    viewer: User | None, cursor: Cursor, *, only_media: bool = False
) -> Page[FeedItem]:
    read = partial(square.stored_ids, only_media=True) if only_media else square.ids
    source = stored(partial(read, viewer.pk if viewer else None))
    return fill_page(source, Reader(viewer, FilterContext.PUBLIC), cursor=cursor, book=PUBLIC)


def _is_public(item: FeedItem) -> bool:
    """Whether a post belongs here. Hydration does not check this: followers may see posts that are not public."""
    return item.post.visibility == Visibility.PUBLIC and not item.is_repost


PUBLIC = rulebook.only("public", _is_public, rulebook.NOT_MUTED)


@dataclass(frozen=True, slots=True)
class TagQuery:
    """Posts with `name` or one of `any_of`; with each of `all_of`, and none of `none_of`. All names are normalized."""

    name: str
    any_of: Sequence[str] = ()
    all_of: Sequence[str] = ()
    none_of: Sequence[str] = ()
    only_media: bool = False


def tag_timeline(viewer: User | None, query: TagQuery, cursor: Cursor) -> Page[FeedItem]:
    """A page of the posts with a tag. Raises NotFound if `name` or one of `any_of` is not a valid tag."""
    tags = [tag_named(name) for name in dict.fromkeys((query.name, *query.any_of))]
    viewer_id = viewer.pk if viewer else None
    source = stored(partial(_tagged_ids, viewer_id, [tag for tag in tags if tag.pk]))
    reader = Reader(viewer, FilterContext.PUBLIC)
    book = rulebook.only("tags", partial(_matches, query), rulebook.NOT_MUTED)
    return fill_page(source, reader, cursor=cursor, book=book)


def _tagged_ids(viewer_id: int | None, tags: list[Tag], cursor: Cursor, count: int) -> list[int]:
    """Up to `count` ids of posts with one of the tags, inside the cursor's bounds and in its order."""
    lists = replicas.read(
        viewer_id,
        lambda db: [public_post_ids(tag.pk, cursor, count, database=db) for tag in tags],
    )
    return merge.first_ids(lists, count, ascending=cursor.ascending)


def _matches(query: TagQuery, item: FeedItem) -> bool:
    tags = item.post.tags.keys()
    has_tags = tags >= set(query.all_of) and tags.isdisjoint(query.none_of)
    return has_tags and (bool(item.post.pictures) or not query.only_media)
