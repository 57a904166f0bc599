"""A reader's own filters: which of them match a post, and whether one of the matches hides it in a context.

Pages are filtered while they are filled (`pipeline.page`), so that they are not too short; `apply_filters` is for posts
read in other ways, such as bookmarks and the posts in notifications. No cached list of ids depends on a filter. A
reader's own posts are never filtered, except their reposts of other people's posts.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.utils import timezone

from apps.accounts.models import User
from apps.filters.matching import Filters
from apps.filters.models import FilterAction, FilterContext
from apps.filters.queries import active_filters_of
from apps.timeline.pipeline.items import FeedItem


def mark(item: FeedItem, filters: Filters, context: FilterContext | None) -> FeedItem:
    """An item with the filters that match it (for a repost: its source). No filter matches the viewer's own posts."""
    shown = item.shown
    if shown.flags.own or not filters:
        return item
    matches = filters.matches(shown.id, _texts(shown), timezone.now())
    if not matches:
        return item
    here = [match.filter for match in matches if context in match.filter.places]
    changes: dict[str, Any] = {
        "filtered": matches,
        "warnings": tuple(each.title for each in here if each.act != FilterAction.BLUR),
        "covers": tuple(each.title for each in here if each.act == FilterAction.BLUR),
    }
    if item.is_repost and item.source:
        return item._replace(source=item.source._replace(**changes), **changes)
    return item._replace(**changes)


def is_hidden(item: FeedItem, context: FilterContext | None) -> bool:
    """Whether one of an item's matches hides it in a context; without a context, nothing is hidden."""
    return any(match.filter.hides and context in match.filter.places for match in item.filtered)


def without_filtered(
    items: Sequence[FeedItem], filters: Filters, context: FilterContext | None
) -> list[FeedItem]:
    """The items that no filter hides in a context, with their matches."""
    marked = [mark(item, filters, context) for item in items]
    return [item for item in marked if not is_hidden(item, context)]


def apply_filters(
    viewer: User | None, context: FilterContext | None, items: Sequence[FeedItem]
) -> list[FeedItem]:
    """Read the viewer's filters, and return the items that they do not hide, with their matches."""
    return without_filtered(items, active_filters_of(viewer), context)


def mark_filtered(viewer: User | None, context: FilterContext, item: FeedItem) -> FeedItem:
    """An item that was requested by its id, with its matches. It is never hidden."""
    return mark(item, active_filters_of(viewer), context)


def _texts(shown: FeedItem) -> Iterable[str]:
    """All texts of a post, and of the post it quotes."""
    for item in filter(None, (shown, shown.quoted)):
        yield item.post.content_warning
        yield item.post.body
        yield from (picture.alt for picture in item.post.pictures)
        yield from item.post.poll.options if item.post.poll else ()
