"""The timelines of a viewer's lists, bookmarks and favourites. Their ids always come from PostgreSQL.

A list has at most 500 members, and each member's posts are read by one bounded index scan. Nothing is pushed to lists.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import itemgetter

from apps.accounts.models import User
from apps.engagement.models import Bookmark, Like
from apps.engagement.queries import bookmarks_page, likes_page
from apps.filters.models import FilterContext
from apps.graph.models import RepliesPolicy, UserList
from apps.pagination import Cursor, Page, to_page
from apps.timeline.pipeline import rulebook
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import MAX_ROUNDS, Reader, fill_page
from apps.timeline.pipeline.word_filters import apply_filters
from apps.timeline.sources import sql
from apps.timeline.sources.found import stored


def list_timeline(owner: User, user_list: UserList, cursor: Cursor) -> Page[FeedItem]:
    """The posts of a list's members that the owner may see, newest first."""
    policy = RepliesPolicy(user_list.replies_policy)
    source = stored(partial(sql.list_ids, owner.pk, user_list.pk, policy))
    reader = Reader(owner, FilterContext.HOME)
    return fill_page(source, reader, cursor=cursor, book=rulebook.LIST_RULES)


def bookmarks_timeline(viewer: User, cursor: Cursor) -> Page[FeedItem]:
    return _posts(viewer, cursor, bookmarks_page)


def favourites_timeline(viewer: User, cursor: Cursor) -> Page[FeedItem]:
    return _posts(viewer, cursor, likes_page)


def _posts(
    viewer: User, cursor: Cursor, read: Callable[[int, Cursor], Page[Bookmark] | Page[Like]]
) -> Page[FeedItem]:
    """A page of posts with a mark (bookmark or like), paged by the marks' ids.

    Posts that the viewer may not see do not shorten it, unless `MAX_ROUNDS` reads were not enough.
    """
    found: list[tuple[int, FeedItem]] = []  # marks with their posts, in the order of the page
    position, more = replace(cursor, limit=cursor.limit + 1), True
    for _round in range(MAX_ROUNDS):
        marks = read(viewer.pk, position).items[:: -1 if cursor.ascending else 1]
        hydrated = hydrate(viewer.pk, [mark.post_id for mark in marks])
        items = {item.id: item for item in hydrated.items}
        found += [(mark.pk, items[mark.post_id]) for mark in marks if mark.post_id in items]
        more = len(marks) > cursor.limit
        if not more or len(found) > cursor.limit:
            break
        position = position.beyond(marks[-1].pk)
    page = to_page(found, cursor, id_of=itemgetter(0))
    if more and len(found) <= cursor.limit:
        older, newer = position.max_id or page.older, position.min_id or page.newer
        page = Page(page.items, older, newer, ends_early=True)
    return page.with_items(apply_filters(viewer, None, [item for _mark, item in page.items]))
