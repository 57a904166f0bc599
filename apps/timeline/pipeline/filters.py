"""A reader's own filters, applied to the items of a page or of an API response.

They act once a page is complete: hidden items make it shorter, and its cursors stay the same. So no cache depends on a
filter, and the auditor compares the unfiltered page. A reader's own posts are never filtered.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from apps.accounts.models import User
from apps.filters.matching import ActiveFilter, filter_matches
from apps.filters.models import FilterContext
from apps.filters.queries import active_filters_of
from apps.paging import Page
from apps.timeline.pipeline.items import FeedItem, Thread


def apply_filters_to_page(
    viewer: User | None, context: FilterContext | None, page: Page[FeedItem]
) -> Page[FeedItem]:
    """A page without the items that the viewer's filters hide in this context; the others carry their matches."""
    return page.mapped(apply_filters(viewer, context, page.items))


def apply_filters(
    viewer: User | None, context: FilterContext | None, items: Sequence[FeedItem]
) -> list[FeedItem]:
    """Items without those hidden in this context; the others carry their matches. Without a context nothing is hidden."""
    return _apply_filters(active_filters_of(viewer), context, items)


def mark_all_filtered(
    viewer: User | None, context: FilterContext, items: Sequence[FeedItem]
) -> list[FeedItem]:
    """Items with their matches, including those that are hidden in this context."""
    filters = active_filters_of(viewer)
    return [_mark(filters, context, item) for item in items]


def mark_filtered(viewer: User | None, context: FilterContext, item: FeedItem) -> FeedItem:
    """An item that was requested by its id: with its matches, and never hidden."""
    return _mark(active_filters_of(viewer), context, item)


def is_hidden(context: FilterContext | None, item: FeedItem) -> bool:
    """Whether a marked item is hidden in this context."""
    return any(match.sieve.hides and context in match.sieve.places for match in item.filtered)


def apply_filters_to_thread(viewer: User | None, thread: Thread) -> Thread:
    """A thread without hidden posts; its focus is marked, and never hidden."""
    filters = active_filters_of(viewer)
    if not filters:
        return thread
    ancestors: list[FeedItem | None] = []
    for item in thread.ancestors:
        if item is None:
            ancestors.append(item)
        else:
            ancestors += _apply_filters(filters, FilterContext.THREAD, [item])
    return replace(
        thread,
        ancestors=ancestors,
        focus=_mark(filters, FilterContext.THREAD, thread.focus),
        descendants=_apply_filters(filters, FilterContext.THREAD, thread.descendants),
    )


def _apply_filters(
    filters: Sequence[ActiveFilter], context: FilterContext | None, items: Sequence[FeedItem]
) -> list[FeedItem]:
    if not filters:
        return list(items)
    marked = [_mark(filters, context, item) for item in items]
    return [item for item in marked if not is_hidden(context, item)]


def _mark(
    filters: Sequence[ActiveFilter], context: FilterContext | None, item: FeedItem
) -> FeedItem:
    shown = item.shown
    if shown.flags.own:
        return item
    matches = filter_matches(filters, shown.id, _texts(shown))
    if not matches:
        return item
    titles = tuple(match.sieve.title for match in matches if context in match.sieve.places)
    if item.is_repost and item.source:
        source = replace(item.source, filtered=matches, warnings=titles)
        return replace(item, filtered=matches, warnings=titles, source=source)
    return replace(item, filtered=matches, warnings=titles)


def _texts(shown: FeedItem) -> Iterable[str]:
    """All texts of a post, and of the post it quotes."""
    for item in filter(None, (shown, shown.quoted)):
        yield item.post.content_warning
        yield item.post.body
        yield from (picture.alt for picture in item.post.pictures)
        yield from item.post.poll.options if item.post.poll else ()
