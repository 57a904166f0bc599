"""A tag's timeline: the public posts with it, newest first; always from PostgreSQL, one bounded scan per tag."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from apps.paging import Cursor, Page
from apps.posts.models import Attachment
from apps.tags.models import Tag
from apps.tags.queries import bearing, public_ids, tag_named
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import fill_page, not_muted
from apps.timeline.sources import merge

MAX_NAMES = 4  # more, in each of `any_of`, `all_of`, `none_of`
MAX_SCANS = 8  # after that a page ends early, when nearly all posts with the tag were filtered out


@dataclass(frozen=True, slots=True)
class TagQuery:
    """Posts with `name` or one of `any_of`; with each of `all_of`, and none of `none_of`. All are normal names."""

    name: str
    any_of: Sequence[str] = ()
    all_of: Sequence[str] = ()
    none_of: Sequence[str] = ()
    only_media: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether every post with the tag matches."""
        return not (self.all_of or self.none_of or self.only_media)


def tag_timeline(viewer_id: int | None, query: TagQuery, cursor: Cursor) -> Page[FeedItem]:
    """A page of the posts with a tag. NotFound when one of the names is not a valid tag."""
    tags = [tag_named(name) for name in dict.fromkeys((query.name, *query.any_of))]
    source = partial(_ids, [tag for tag in tags if tag.pk], query)
    return fill_page(source, viewer_id=viewer_id, cursor=cursor, rule=not_muted)


def _ids(tags: list[Tag], query: TagQuery, cursor: Cursor, count: int) -> list[int]:
    """Up to `count` ids inside the cursor's bounds, in reading order."""
    matching: list[int] = []
    for _scan in range(1 if query.is_plain else MAX_SCANS):
        lists = [public_ids(tag.pk, cursor, count) for tag in tags]
        ids = merge.first_ids(lists, count, ascending=cursor.ascending)
        matching += ids if query.is_plain else _matching(query, ids)
        if len(ids) < count or len(matching) >= count:
            break
        cursor = cursor.beyond(ids[-1])
    return matching[:count]


def _matching(query: TagQuery, ids: list[int]) -> list[int]:
    tags = bearing(ids, [*query.all_of, *query.none_of])
    candidates = _with_pictures(ids) if query.only_media else set(ids)
    all_of, none_of = set(query.all_of), set(query.none_of)
    return [
        post_id
        for post_id in ids
        if post_id in candidates and all_of <= tags[post_id] and none_of.isdisjoint(tags[post_id])
    ]


def _with_pictures(ids: list[int]) -> set[int]:
    return set(Attachment.objects.filter(post__in=ids).values_list("post_id", flat=True))
