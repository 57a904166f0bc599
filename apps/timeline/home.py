"""The home timeline: what the viewer's followees, the viewer, and the viewer's circles published; newest first.

Skeleton: the reader's home window (open posts) and inbox (restricted posts) in Redis, merged, each rebuilt when it is
missing; and the outboxes of those authors among the reader's followees who are *merged* now, because windows may lack
posts of theirs (`policies`). Below the higher of the ends, and when Redis does not answer, ids by pull from PostgreSQL.
Then hydrate, rules, top up (`pages`).
"""

import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import BadRequest
from apps.graph.queries import Relations, chosen_languages
from apps.lists.queries import kept_off_home
from apps.paging import Cursor, Page
from apps.posts.models import Visibility
from apps.posts.queries import Preloaded
from apps.tags.queries import followed_names
from apps.timeline import policy
from apps.timeline.pipeline import samples
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.pipeline.page import Rule, Source, fill_page, wanted
from apps.timeline.sources import merge, older, pulled_authors, sql
from apps.timeline.sources.home_cache import HOME, INBOX
from apps.timeline.sources.rebuild import rebuild_home, rebuild_inbox
from feedcache.ids import MAX_ID
from feedcache.structures.home_window import WindowRange, late_arrivals
from feedcache.structures.merge import (
    Merged,
    WindowReads,
    merge_down,
    merge_up,
    read_windows,
    read_windows_up,
)

MORE_LOOKS = 2  # when there is news of the policies, and again


def home_timeline(viewer: User, cursor: Cursor) -> Page[FeedItem]:
    """A page of a viewer's home timeline."""
    preloaded: Preloaded = {}
    page = fill_page(
        candidates_of(viewer, preloaded=preloaded),
        viewer_id=viewer.pk,
        cursor=cursor,
        rule=rule_of(viewer),
        preloaded=preloaded,
    )
    samples.note_home(viewer.pk, cursor, page)
    return page


def candidates_of(viewer: User, *, preloaded: Preloaded | None = None) -> Source:
    """What the viewer's followees say; and for who follows tags, also what is found by them, pulled at every read.

    `preloaded` gets the contents of what lies below the windows.
    """
    followed = partial(
        home_ids, viewer.pk, revision=viewer.counts.graph_revision, preloaded=preloaded
    )
    if not viewer.counts.followed_tags:
        return followed

    def both(cursor: Cursor, count: int) -> list[int]:
        tagged = sql.followed_tag_ids(viewer.pk, cursor, count)
        return merge.page([followed(cursor, count), tagged], count, ascending=cursor.ascending)

    return both


def home_ids(
    reader_id: int,
    cursor: Cursor,
    count: int,
    *,
    revision: int | None = None,
    preloaded: Preloaded | None = None,
) -> list[int]:
    """Up to `count` candidate ids inside the cursor's bounds, in reading order.

    `revision` is the reader's `graph_revision`, if the caller has just read it. `preloaded` gets the contents of open posts
    below the windows.
    """
    parts, now = _look(reader_id, cursor, count)
    if None in parts and _rebuild_missing(reader_id, parts):
        parts, now = _look(reader_id, cursor, count)
    if None not in parts and (now.pulls_all or now.merged):
        pulled = pulled_authors.ids_in_time(reader_id, now, cursor, count, revision=revision)
        parts = [*parts, WindowRange(pulled, complete=True)]
    there = _merged(parts, cursor, count)
    if there is None:
        return older.home_ids(reader_id, cursor, count, preloaded=preloaded)
    if not there.end:
        return there.ids
    below = cursor.beyond(there.end)
    rest = older.home_ids(reader_id, below, count - len(there.ids), preloaded=preloaded)
    return there.ids + rest


def _look(
    reader_id: int, cursor: Cursor, count: int
) -> tuple[list[WindowRange | None], policy.PoliciesInForce]:
    """What the home window and the inbox know of a range, and the policies that were in force at that moment.

    While all outboxes are merged the home window says nothing: it misses pushes.
    """
    found, now = _read(reader_id, cursor, count)
    for _again in range(MORE_LOOKS):
        if not found.answered or now.is_current(found.extra):
            break
        policy.load()  # and look again: the windows must be at least as new as the set
        found, now = _read(reader_id, cursor, count)
    if found.answered and now.pulls_all:
        return [WindowRange([], complete=True), *found.parts[1:]], now
    return found.parts, now


def _read(reader_id: int, cursor: Cursor, count: int) -> tuple[WindowReads, policy.PoliciesInForce]:
    now = policy.known()
    read = read_windows_up if cursor.ascending else read_windows
    windows, oldest, newest = (HOME.of(now.generation), INBOX), cursor.floor, cursor.max_id
    return read(windows, reader_id, oldest=oldest, newest=newest, count=count, extra_key=policy.VERSION_KEY), now  # fmt: skip


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
        return merge_up(there, count=count)
    return merge_down(there, newest=cursor.max_id, count=count)


def rule_of(viewer: User) -> Rule:
    """What belongs on a viewer's home timeline, of what the viewer may see."""
    return partial(
        _belongs,
        viewer_id=viewer.pk,
        elsewhere=kept_off_home(viewer),
        tags=followed_names(viewer),
        languages=chosen_languages(viewer),
    )


def _belongs(
    item: FeedItem,
    relations: Relations,
    *,
    viewer_id: int,
    elsewhere: Collection[int],
    tags: Collection[str],
    languages: Mapping[int, Collection[str]],
) -> bool:
    author_id = item.post.author_id
    if author_id in elsewhere:  # read in a list of their own
        return False
    if languages and is_unread(item, languages):
        return False
    # a window may still hold an author who is not followed any more; circles are for members, whom the gate checks
    followed = author_id == viewer_id or author_id in relations.following
    circled = item.post.visibility == Visibility.CIRCLE
    found = followed or circled or _bears(item, tags)
    return found and wanted(item, relations)


def is_unread(item: FeedItem, languages: Mapping[int, Collection[str]]) -> bool:
    """Whether an item is in a language in which its author's posts are not wanted; what has none, or is a repost, never."""
    wished = languages.get(item.post.author_id)
    if not wished or not item.post.language or item.is_repost:
        return False
    language = item.post.language.lower()
    return language not in wished and language.partition("-")[0] not in wished


def _bears(item: FeedItem, tags: Collection[str]) -> bool:
    """Whether an item is found by one of some tags: public posts are."""
    return item.post.visibility == Visibility.PUBLIC and not item.post.tags.keys().isdisjoint(tags)


def newer_count(viewer: User, since_id: int, *, maximum: int = 99) -> int:
    """How many posts lie above an id, at most `most`; none when the viewer has no windows."""
    above = Cursor(since_id=since_id, limit=maximum)
    parts, now = _look(viewer.pk, above, maximum)
    ids = {one for part in parts if part for one in part.ids}
    if parts[0] is not None and (now.pulls_all or now.merged):
        ids.update(
            pulled_authors.ids(
                viewer.pk, now, above, maximum, revision=viewer.counts.graph_revision
            )
        )
    if viewer.counts.followed_tags:
        ids.update(sql.followed_tag_ids(viewer.pk, above, maximum))
    return min(maximum, len(ids))


SKEW_MS = 1000  # the clocks of Redis and of the web servers may differ by so much
_PLACE = re.compile(r"([0-9]{1,19})-([0-9]{1,15})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
    """How far a reader has read: the newest id that was there, and when (Unix milliseconds)."""

    newest_id: int
    at_ms: int

    @classmethod
    def of(cls, page: Page[FeedItem]) -> "Place":
        """The place of who has just been given a page that begins at the top."""
        return cls(page.newer or 0, round(time.time() * 1000))

    @classmethod
    def parse(cls, text: str) -> "Place":
        """The inverse of `str`; BadRequest for anything else. A plain post id is a place without a moment."""
        found = _PLACE.fullmatch(text if "-" in text else f"{text}-{round(time.time() * 1000)}")
        if found is None or int(found[1]) > MAX_ID:
            raise BadRequest(_("This is no place in the feed: %(text)s.") % {"text": text[:40]})
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.newest_id}-{self.at_ms}"


@dataclass(frozen=True, slots=True)
class Activity:
    """What is unread, newest first; `last_id` is the place to go on from, `more` whether there is more above it."""

    items: list[FeedItem]
    last_id: str
    more: bool = False


def get_activity(viewer: User, last_id: str | None = None, *, limit: int = 20) -> Activity:
    """The unread items of a viewer, newest first: all that came late, and the lowest above the place, about `limit`.

    Without a place the newest page. Going on from `last_id` nothing is left out. BadRequest for a malformed place.
    """
    began_ms = round(time.time() * 1000)
    if not last_id:
        page = home_timeline(viewer, Cursor(limit=limit))
        return Activity(page.items, str(Place(page.newer or 0, began_ms)))
    place = Place.parse(last_id)
    late = _late_items(viewer, place)
    room = max(limit - len(late), 1)
    above = home_timeline(viewer, Cursor(min_id=place.newest_id, limit=room))
    items = above.items + late  # the late ones are all below the place
    newest = max(place.newest_id, above.newer or 0)
    return Activity(items, str(Place(newest, began_ms)), more=len(above.items) >= room)


def may_have_news(viewer: User, place: Place) -> bool:
    """Whether there are candidates for being unread; cheap, and nothing is rebuilt for it."""
    return bool(newer_count(viewer, place.newest_id, maximum=1) or _late_ids(viewer, place))


def _late_items(viewer: User, place: Place) -> list[FeedItem]:
    hydrated = hydrate(viewer.pk, _late_ids(viewer, place))
    rule = rule_of(viewer)
    return [item for item in hydrated.items if rule(item, hydrated.relations)]


def _late_ids(viewer: User, place: Place) -> list[int]:
    since = max(place.at_ms - SKEW_MS, 0)
    late = late_arrivals((HOME, INBOX), viewer.pk, since_ms=since)
    return [post_id for post_id in late if post_id <= place.newest_id]
