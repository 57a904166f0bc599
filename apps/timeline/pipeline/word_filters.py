"""A reader's own filters outside the pages of timelines: single posts, notifications, answers of the API.

Pages are filtered while they are filled (`pipeline.page`), so that they are as long as they should be. No cache depends
on a filter, and a reader's own posts are never filtered.
"""

from collections.abc import Sequence

from apps.accounts.models import User
from apps.filters.models import FilterContext
from apps.filters.queries import active_filters_of
from apps.timeline.pipeline.page import FeedItem, mark, without_filtered


def apply_filters(
    viewer: User | None, context: FilterContext | None, items: Sequence[FeedItem]
) -> list[FeedItem]:
    """Items without those hidden in this context; others carry their matches. Without a context none is hidden."""
    return without_filtered(items, active_filters_of(viewer), context)


def mark_filtered(viewer: User | None, context: FilterContext, item: FeedItem) -> FeedItem:
    """An item that was requested by its id: with its matches, and never hidden."""
    return mark(item, active_filters_of(viewer), context)
