"""Fill a page: take candidate ids from a source, hydrate them, apply the rules, and top up what the rules dropped.

Every timeline passes the same stages: skeleton (ids) -> hydrate -> rules -> page.
"""

from collections.abc import Callable, Sequence

from apps.graph.queries import Relations
from apps.paging import Cursor, Page, to_page
from apps.posts.queries import Preloaded
from apps.posts.viewer_context import viewer_context_of
from apps.timeline.pipeline.hydrate import hydrate_for
from apps.timeline.pipeline.items import FeedItem
from feedcache.ids import first_id_at, second_of
from feedcache.timing import stage

# The ids inside a cursor's bounds, in reading order, at most the given number.
Source = Callable[[Cursor, int], Sequence[int]]
# Whether an item that the viewer may see belongs on this page.
Rule = Callable[[FeedItem, Relations], bool]

MAX_ROUNDS = 8  # after that the page is short, with a cursor to continue from


def fill_page(
    source: Source,
    *,
    viewer_id: int | None,
    cursor: Cursor,
    rule: Rule,
    preloaded: Preloaded | None = None,
) -> Page[FeedItem]:
    """One page of a timeline: full unless the timeline ends, or eight rounds of candidates were dropped, before that.

    `preloaded` holds contents that the source has read already; the source may add to it whenever it is called.
    """
    items: list[FeedItem] = []
    position, more = cursor, True
    with viewer_context_of(viewer_id) as context, stage("skeleton"):
        ids = source(position, cursor.limit + 1)
    for _round in range(MAX_ROUNDS):
        more = len(ids) > cursor.limit
        hydrated = hydrate_for(context, ids, preloaded=preloaded)
        with stage("rules"):
            items += [item for item in hydrated.items if rule(item, hydrated.relations)]
        if not more or len(items) > cursor.limit:
            break
        position = cursor.beyond(ids[-1])
        ids = source(position, cursor.limit + 1)
    page = to_page(items, cursor, id_of=lambda item: item.id)
    if more and len(items) <= cursor.limit:
        return _unfinished(page, cursor, position)
    return page


def _unfinished(page: Page[FeedItem], cursor: Cursor, position: Cursor) -> Page[FeedItem]:
    """A page whose cursor does not reveal the id of a dropped post: it lies between two seconds, or at the last item.

    The next page reads the dropped candidates of that second again. Only where a page would otherwise stay inside one second
    for ever does the cursor take their id.
    """
    if position.min_id is not None and cursor.ascending:
        below = first_id_at(second_of(position.min_id)) - 1
        newer = max(below, page.newer or 0)
        return Page(page.items, page.older, newer if newer > cursor.floor else position.min_id)
    if position.max_id is None:
        return page
    above = first_id_at(second_of(position.max_id) + 1)
    older = min(above, page.items[-1].id) if page.items else above
    is_further = cursor.max_id is None or older < cursor.max_id
    return Page(page.items, older if is_further else position.max_id, page.newer)


def not_muted(item: FeedItem, relations: Relations) -> bool:
    """The viewer mutes neither the author nor the author of what a repost shares."""
    muting = relations.muting
    return not muting or muting.isdisjoint((item.post.author_id, item.shown.post.author_id))


def not_muted_nor_hidden(item: FeedItem, relations: Relations) -> bool:
    """Not muted, and not a repost by an account whose reposts the viewer hides: the rule of pages built from follows."""
    is_hidden_repost = item.is_repost and item.post.author_id in relations.hiding_reposts
    return not is_hidden_repost and not_muted(item, relations)


def accept_all(_item: FeedItem, _relations: Relations) -> bool:
    """Everything that the viewer may see."""
    return True
