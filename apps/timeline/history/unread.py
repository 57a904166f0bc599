"""Unread posts on home since a position: new posts above it, and posts below it that arrived late."""

import re
import time
from dataclasses import dataclass
from typing import Self

from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import BadRequest
from apps.pagination import Cursor, Page
from apps.timeline.home import home_items, home_timeline
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.sources import pulled_authors, sql, virtual_follows
from apps.timeline.sources.home import cached_ranges
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.ids import MAX_ID
from feedcache.structures.home_window import late_arrivals

MAX_SKEW_MS = 1000  # between the clocks of Redis and of the web servers
_POSITION = re.compile(r"([0-9]{1,19})-([0-9]{1,15})", re.ASCII)


def newer_candidate_count(viewer: User, since_id: int, *, maximum: int = 99) -> int:
    """The number of candidates newer than an id, at most `maximum`, without promoted posts.

    Without a home cache, open posts of followees are not counted; without an inbox, restricted posts are not. Rules may
    still drop candidates, so the link to new posts (`web.timelines.home.home_new`) may show a lower number. For readers
    who hide replies to strangers, a page of home is made, and only its posts are counted: ids do not reveal replies.
    """
    if viewer.hides_replies:
        above = Cursor(since_id=since_id, limit=maximum)
        return len(home_timeline(viewer, above, promoted=False).items)
    above = Cursor(since_id=since_id, limit=maximum)
    ranges, policies = cached_ranges(viewer.pk, above, maximum)
    ids = {post_id for part in ranges if part for post_id in part.ids}
    revision = viewer.counts.graph_revision
    if ranges[0] is not None and (policies.pulls_all or policies.pulled):
        ids.update(pulled_authors.ids(viewer.pk, policies, above, maximum, revision=revision))
    ids = virtual_follows.without_virtual(viewer.pk, ids, revision=revision)
    if viewer.counts.followed_tags:
        ids.update(sql.followed_tag_ids(viewer.pk, above, maximum))
    return min(maximum, len(ids))


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """How far a reader has read: the newest id on the page, and the time of reading (Unix milliseconds)."""

    newest_id: int
    at_ms: int

    @classmethod
    def of(cls, page: Page[FeedItem]) -> Self:
        """The position after reading a page that begins at the top."""
        return cls(page.newer or 0, round(time.time() * 1000))

    @classmethod
    def parse(cls, text: str) -> Self:
        """The inverse of `str`. A plain post id stands for a page read just now. Raises BadRequest for other texts."""
        match = _POSITION.fullmatch(text if "-" in text else f"{text}-{round(time.time() * 1000)}")
        if match is None or int(match[1]) > MAX_ID:
            raise BadRequest(
                _("This is not a position in the timeline: %(text)s.") % {"text": text[:40]}
            )
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.newest_id}-{self.at_ms}"


@dataclass(frozen=True, slots=True)
class Activity:
    """Unread items, newest first. `last_id`: the position to continue from; `more`: whether newer items may follow."""

    items: list[FeedItem]
    last_id: str
    more: bool = False


def get_activity(
    viewer: User, last_id: str | None = None, *, limit: int = 20, promoted: bool = True
) -> Activity:
    """About `limit` unread items, newest first: all late arrivals, and the oldest items above the position.

    Without a position, returns the newest page. Continuing from the returned `last_id` skips nothing. For `promoted`,
    see `home_timeline`. Raises BadRequest for a malformed position.
    """
    began_ms = round(time.time() * 1000)
    if not last_id:
        page = home_timeline(viewer, Cursor(limit=limit), promoted=promoted)
        return Activity(page.items, str(ReadPosition(page.newer or 0, began_ms)))
    position = ReadPosition.parse(last_id)
    late = _late_items(viewer, position)
    room = max(limit - len(late), 1)
    cursor = Cursor(min_id=position.newest_id, limit=room)
    above = home_timeline(viewer, cursor, promoted=promoted)
    items = above.items + late  # all late arrivals are below the position
    newest = max(position.newest_id, above.newer or 0)
    return Activity(items, str(ReadPosition(newest, began_ms)), more=len(above.items) >= room)


def may_have_unread(viewer: User, position: ReadPosition) -> bool:
    """Whether there are candidates for unread items. This is cheap, because no home cache is rebuilt.

    For readers who hide replies to strangers it is not: for them, a page of home is made.
    """
    return bool(
        newer_candidate_count(viewer, position.newest_id, maximum=1) or _late_ids(viewer, position)
    )


def _late_items(viewer: User, position: ReadPosition) -> list[FeedItem]:
    items = home_items(viewer, _late_ids(viewer, position), promoted=False)
    return [item for item in items if not (viewer.hides_read and item.shown.flags.read)]


def _late_ids(viewer: User, position: ReadPosition) -> list[int]:
    since = max(position.at_ms - MAX_SKEW_MS, 0)
    late = late_arrivals((HOME, INBOX), viewer.pk, since_ms=since)
    return [post_id for post_id in late if post_id <= position.newest_id]
