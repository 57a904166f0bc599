"""What came to a home timeline since its reader last looked, whatever its ids.

A place in the feed is the newest id that was there and the moment at which the reader looked. Unread is what has a
higher id, and what came with a lower one after that moment: a post whose delivery was slow (source 003, "Scan(last max
id -> MAX)"; requirements C07). When the caches were lost meanwhile only the higher ids are left, as after a rebuild.
"""

import re
import time
from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import BadRequest
from apps.paging import Cursor, Page
from apps.timeline.cache import HOME, INBOX
from apps.timeline.home import home_timeline, newer_count, rule_of
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.items import FeedItem
from feedcache.ids import MAX_ID
from feedcache.structures.arrivals import late_arrivals

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
