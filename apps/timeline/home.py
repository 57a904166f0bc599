"""The home timeline: what the viewer's followees, and the viewer, published; newest first.

Skeleton: the reader's window in Redis, rebuilt when it is missing; below the window, and when Redis does not answer,
ids by pull from PostgreSQL. Then hydrate, rules, top up (`pages`).
"""

from functools import partial

from apps.accounts.models import User
from apps.graph.queries import Relations
from apps.paging import Cursor, Page
from apps.timeline import pull
from apps.timeline.cache import HOME
from apps.timeline.items import FeedItem
from apps.timeline.pages import fill_page, not_muted
from apps.timeline.rebuild import rebuild_home


def home_timeline(viewer: User, cursor: Cursor) -> Page[FeedItem]:
    """A page of a viewer's home timeline."""
    rule = partial(_belongs, viewer_id=viewer.pk)
    return fill_page(partial(home_ids, viewer.pk), viewer_id=viewer.pk, cursor=cursor, rule=rule)


def home_ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """Up to `count` candidate ids inside the cursor's bounds, in reading order."""
    found = _window(reader_id, cursor, count)
    if found is None and rebuild_home(reader_id):
        found = _window(reader_id, cursor, count)
    if found is None:
        return pull.home_ids(reader_id, cursor, count)
    ids, complete = found
    if complete or len(ids) >= count:
        return ids[:count]
    if cursor.ascending:  # the window does not reach down to min_id: SQL answers from there
        return pull.home_ids(reader_id, cursor, count)
    below = cursor.beyond(ids[-1]) if ids else cursor
    return ids + pull.home_ids(reader_id, below, count - len(ids))


def _window(reader_id: int, cursor: Cursor, count: int) -> tuple[list[int], bool] | None:
    if cursor.ascending:
        found = HOME.read_up(reader_id, oldest=cursor.floor, newest=cursor.max_id, count=count)
        # an answer that does not start at min_id may lack what lies between
        return (found.ids if found.complete else [], found.complete) if found else None
    found = HOME.read(reader_id, newest=cursor.max_id, oldest=cursor.floor, count=count)
    return (found.ids, found.complete) if found else None


def _belongs(item: FeedItem, relations: Relations, *, viewer_id: int) -> bool:
    # the window may still hold an author who is not followed any more
    followed = item.author.pk == viewer_id or item.author.pk in relations.following
    return followed and not_muted(item, relations)


def newer_count(viewer: User, since_id: int, *, most: int = 99) -> int:
    """How many posts lie above an id, at most `most`; none when the viewer has no window."""
    found = HOME.read(viewer.pk, newest=None, oldest=since_id, count=most)
    return len(found.ids) if found else 0
