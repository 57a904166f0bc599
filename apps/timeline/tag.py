"""A tag's timeline: the public posts that bear it, newest first; always from PostgreSQL, one bounded scan per tag."""

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
MAX_LOOKS = 8  # then a page that nearly everything was left out of ends early


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
        """Whether every post with the tag fits."""
        return not (self.all_of or self.none_of or self.only_media)


def tag_timeline(viewer_id: int | None, parse_query: TagQuery, cursor: Cursor) -> Page[FeedItem]:
    """A page of the posts with a tag. NotFound when one of the names can be no tag's."""
    tags = [tag_named(name) for name in dict.fromkeys((parse_query.name, *parse_query.any_of))]
    source = partial(_ids, [tag for tag in tags if tag.pk], parse_query)
    return fill_page(source, viewer_id=viewer_id, cursor=cursor, rule=not_muted)


def _ids(tags: list[Tag], parse_query: TagQuery, cursor: Cursor, count: int) -> list[int]:
    """Up to `count` ids inside the cursor's bounds, in reading order."""
    found: list[int] = []
    for _look in range(1 if parse_query.is_plain else MAX_LOOKS):
        lists = [public_ids(tag.pk, cursor, count) for tag in tags]
        ids = merge.first_ids(lists, count, ascending=cursor.ascending)
        found += ids if parse_query.is_plain else _fitting(parse_query, ids)
        if len(ids) < count or len(found) >= count:
            break
        cursor = cursor.beyond(ids[-1])
    return found[:count]


def _fitting(parse_query: TagQuery, ids: list[int]) -> list[int]:
    bear = bearing(ids, [*parse_query.all_of, *parse_query.none_of])
    pictured = _with_pictures(ids) if parse_query.only_media else set(ids)
    must, must_not = set(parse_query.all_of), set(parse_query.none_of)
    return [
        one
        for one in ids
        if one in pictured and must <= bear[one] and must_not.isdisjoint(bear[one])
    ]


def _with_pictures(ids: list[int]) -> set[int]:
    return set(Attachment.objects.filter(post__in=ids).values_list("post_id", flat=True))
