"""A reader's own filters over what is about to be shown, the same for pages and programs.

They act after a page is complete: what is hidden makes it shorter, and its cursors stay as they were. So nothing of a filter
is in any cache, and what was delivered is still what the auditor compares. One's own posts are never filtered.
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
    viewer: User | None, place: FilterContext | None, page: Page[FeedItem]
) -> Page[FeedItem]:
    """A page without what the viewer's filters hide in this place, the rest marked."""
    return page.mapped(apply_filters(viewer, place, page.items))


def apply_filters(
    viewer: User | None, place: FilterContext | None, items: Sequence[FeedItem]
) -> list[FeedItem]:
    """Items without what is hidden in this place, the rest marked; without a place nothing is hidden."""
    return _apply_filters(active_filters_of(viewer), place, items)


def all_marked(
    viewer: User | None, place: FilterContext, items: Sequence[FeedItem]
) -> list[FeedItem]:
    """Items marked with what filters find in them; those that are hidden in this place are there too."""
    sieves = active_filters_of(viewer)
    return [_marked(sieves, place, item) for item in items]


def marked(viewer: User | None, place: FilterContext, item: FeedItem) -> FeedItem:
    """One item that somebody asked for by itself: marked, and never hidden."""
    return _marked(active_filters_of(viewer), place, item)


def is_hidden(place: FilterContext | None, item: FeedItem) -> bool:
    """Whether an item that is marked is not to be seen in a place."""
    return any(one.sieve.hides and place in one.sieve.places for one in item.filtered)


def apply_filters_to_thread(viewer: User | None, found: Thread) -> Thread:
    """A thread without what is hidden; the post in its middle is only marked."""
    sieves = active_filters_of(viewer)
    if not sieves:
        return found
    above: list[FeedItem | None] = []
    for item in found.ancestors:
        above += [item] if item is None else _apply_filters(sieves, FilterContext.THREAD, [item])
    return replace(
        found,
        ancestors=above,
        focus=_marked(sieves, FilterContext.THREAD, found.focus),
        descendants=_apply_filters(sieves, FilterContext.THREAD, found.descendants),
    )


def _apply_filters(
    sieves: Sequence[ActiveFilter], place: FilterContext | None, items: Sequence[FeedItem]
) -> list[FeedItem]:
    if not sieves:
        return list(items)
    found = [_marked(sieves, place, item) for item in items]
    return [item for item in found if not is_hidden(place, item)]


def _marked(
    sieves: Sequence[ActiveFilter], place: FilterContext | None, item: FeedItem
) -> FeedItem:
    shown = item.shown
    if shown.flags.own:
        return item
    found = filter_matches(sieves, shown.id, _texts(shown))
    if not found:
        return item
    titles = tuple(one.sieve.title for one in found if place in one.sieve.places)
    if item.is_repost and item.source:
        source = replace(item.source, filtered=found, warnings=titles)
        return replace(item, filtered=found, warnings=titles, source=source)
    return replace(item, filtered=found, warnings=titles)


def _texts(shown: FeedItem) -> Iterable[str]:
    """All that a reader would read of a post: what it quotes belongs to it."""
    for item in filter(None, (shown, shown.quoted)):
        yield item.post.content_warning
        yield item.post.body
        yield from (picture.alt for picture in item.post.pictures)
        yield from item.post.poll.options if item.post.poll else ()
