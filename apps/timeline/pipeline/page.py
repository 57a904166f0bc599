"""Fill a page: take candidates from a source, hydrate them, apply the rules, top up what the rules took away.

The stages are those of every timeline here: skeleton (ids) -> hydrate -> rules -> page.
"""

from collections.abc import Callable, Sequence

from apps.graph.queries import Relations
from apps.paging import Cursor, Page, to_page
from apps.posts.queries import Preloaded
from apps.posts.viewer_context import viewer_context_of
from apps.timeline.pipeline.hydrate import hydrated
from apps.timeline.pipeline.items import FeedItem
from feedcache.ids import first_id_at, second_of
from feedcache.timing import stage

# The ids inside a cursor's bounds, in reading order, at most so many.
Source = Callable[[Cursor, int], Sequence[int]]
# Whether an item that the viewer may see belongs on this page.
Rule = Callable[[FeedItem, Relations], bool]

MAX_ROUNDS = 8  # then a short page is given, with a cursor to go on from


def fill_page(
    source: Source,
    *,
    viewer_id: int | None,
    cursor: Cursor,
    rule: Rule,
    preloaded: Preloaded | None = None,
) -> Page[FeedItem]:
    """One page of a timeline: complete unless the end, or eight rounds of refused candidates, came first.

    `preloaded` are contents that the source brought along; it may fill them while it is asked.
    """
    shown: list[FeedItem] = []
    walk, more = cursor, True
    with viewer_context_of(viewer_id) as context, stage("skeleton"):
        ids = source(walk, cursor.limit + 1)
    for _round in range(MAX_ROUNDS):
        more = len(ids) > cursor.limit
        found = hydrated(context, ids, preloaded=preloaded)
        with stage("rules"):
            shown += [item for item in found.items if rule(item, found.relations)]
        if not more or len(shown) > cursor.limit:
            break
        walk = cursor.beyond(ids[-1])
        ids = source(walk, cursor.limit + 1)
    page = to_page(shown, cursor, id_of=lambda item: item.id)
    if more and len(shown) <= cursor.limit:
        return _unfinished(page, cursor, walk)
    return page


def _unfinished(page: Page[FeedItem], cursor: Cursor, walk: Cursor) -> Page[FeedItem]:
    """A page whose cursor names no post that was refused: it lies between two seconds, or at the last item shown.

    The refused candidates of that second are looked at again. Where a page of one second would never end, their id it is.
    """
    if walk.min_id is not None and cursor.ascending:
        below = first_id_at(second_of(walk.min_id)) - 1
        newer = max(below, page.newer or 0)
        return Page(page.items, page.older, newer if newer > cursor.floor else walk.min_id)
    if walk.max_id is None:
        return page
    above = first_id_at(second_of(walk.max_id) + 1)
    older = min(above, page.items[-1].id) if page.items else above
    is_further = cursor.max_id is None or older < cursor.max_id
    return Page(page.items, older if is_further else walk.max_id, page.newer)


def not_muted(item: FeedItem, relations: Relations) -> bool:
    """Neither the author nor whom a repost shares is muted by the viewer."""
    muting = relations.muting
    return not muting or muting.isdisjoint((item.post.author_id, item.shown.post.author_id))


def wanted(item: FeedItem, relations: Relations) -> bool:
    """Not muted, and shared by nobody whose reposts the viewer hides: for pages that are put together from follows."""
    unshared = item.post.author_id in relations.hiding_reposts and item.is_repost
    return not unshared and not_muted(item, relations)


def anything(_item: FeedItem, _relations: Relations) -> bool:
    """All that the gate let through."""
    return True
