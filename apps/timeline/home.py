"""The home timeline: what the viewer's followees, the viewer, and the viewer's circles published; newest first.

Skeleton: the reader's home window (open posts) and inbox (restricted posts) in Redis, merged, each rebuilt when it is
missing; below the higher of their ends, and when Redis does not answer, ids by pull from PostgreSQL. Then hydrate,
rules, top up (`pages`).
"""

from functools import partial

from apps.accounts.models import User
from apps.caches.merge import Merged, merged_down, merged_up, read_together, read_up_together
from apps.caches.window import WindowRange
from apps.graph.queries import Relations
from apps.paging import Cursor, Page
from apps.posts.models import Visibility
from apps.timeline import older, samples
from apps.timeline.cache import HOME, INBOX
from apps.timeline.items import FeedItem
from apps.timeline.pages import fill_page, not_muted
from apps.timeline.rebuild import rebuild_home, rebuild_inbox


def home_timeline(viewer: User, cursor: Cursor) -> Page[FeedItem]:
    """A page of a viewer's home timeline."""
    rule = partial(belongs, viewer_id=viewer.pk)
    page = fill_page(partial(home_ids, viewer.pk), viewer_id=viewer.pk, cursor=cursor, rule=rule)
    samples.note_home(viewer.pk, cursor, page)
    return page


def home_ids(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """Up to `count` candidate ids inside the cursor's bounds, in reading order."""
    parts = _parts(reader_id, cursor, count)
    if None in parts and _rebuild_missing(reader_id, parts):
        parts = _parts(reader_id, cursor, count)
    known = _merged(parts, cursor, count)
    if known is None:
        return older.home_ids(reader_id, cursor, count)
    if not known.end:
        return known.ids
    below = cursor.beyond(known.end)
    return known.ids + older.home_ids(reader_id, below, count - len(known.ids))


def _parts(reader_id: int, cursor: Cursor, count: int) -> list[WindowRange | None]:
    """What the home window and the inbox know of a range, None for one that is missing."""
    windows, oldest, newest = (HOME, INBOX), cursor.floor, cursor.max_id
    read = read_up_together if cursor.ascending else read_together
    return read(windows, reader_id, oldest=oldest, newest=newest, count=count)


def _rebuild_missing(reader_id: int, parts: list[WindowRange | None]) -> bool:
    home, inbox = parts
    return (home is not None or rebuild_home(reader_id)) and (
        inbox is not None or rebuild_inbox(reader_id)
    )


def _merged(parts: list[WindowRange | None], cursor: Cursor, count: int) -> Merged | None:
    """Both windows as one list; None when PostgreSQL has to answer for the whole range."""
    there = [part for part in parts if part is not None]
    if len(there) < len(parts):
        return None
    if cursor.ascending:
        return merged_up(there, count=count)
    return merged_down(there, newest=cursor.max_id, count=count)


def belongs(item: FeedItem, relations: Relations, *, viewer_id: int) -> bool:
    # a window may still hold an author who is not followed any more; circles are for members, whom the gate checks
    followed = item.author.pk == viewer_id or item.author.pk in relations.following
    circled = item.post.visibility == Visibility.CIRCLE
    return (followed or circled) and not_muted(item, relations)


def newer_count(viewer: User, since_id: int, *, most: int = 99) -> int:
    """How many posts lie above an id, at most `most`; none when the viewer has no windows."""
    parts = read_together((HOME, INBOX), viewer.pk, newest=None, oldest=since_id, count=most)
    return min(most, sum(len(part.ids) for part in parts if part))
