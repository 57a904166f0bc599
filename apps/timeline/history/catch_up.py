"""Posts that arrived on a reader's home page since they left, grouped by author or ordered by reactions."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from django.utils import timezone

from apps.accounts.models import User
from apps.pagination import MAX_LIMIT, Cursor, id_after
from apps.timeline.home import home_timeline
from apps.timeline.pipeline.items import FeedItem
from feedcache.ids import second_of

MAX_PAGES = 5  # pages of home, with up to 40 posts each
MAX_DAYS = 7


@dataclass(frozen=True, slots=True)
class AuthorPosts:
    """The posts of one account on the page, newest first; a repost belongs to the account that reposted it."""

    author: User
    items: list[FeedItem]

    @property
    def reactions(self) -> int:
        return sum(map(reactions, self.items))


@dataclass(frozen=True, slots=True)
class CatchUp:
    """The posts on home after `since`, newest first.

    `bound` is the limit (age or number) that may have cut off further unread posts, and `older` is the `max_id` of the
    home page that would contain them; both are None if nothing was cut off.
    """

    since: datetime
    items: list[FeedItem]
    bound: Literal["days", "posts"] | None
    older: int | None

    @property
    def by_author(self) -> list[AuthorPosts]:
        """The posts grouped by author, most posts first; ties are ordered by reactions, then by handle."""
        items_by_author = defaultdict[int, list[FeedItem]](list)
        for item in self.items:
            items_by_author[item.author.pk].append(item)
        shares = [AuthorPosts(items[0].author, items) for items in items_by_author.values()]
        return sorted(shares, key=lambda one: (-len(one.items), -one.reactions, one.author.handle))

    @property
    def by_reactions(self) -> list[FeedItem]:
        """The posts with the most reactions first; ties are ordered newest first."""
        return sorted(self.items, key=reactions, reverse=True)


def reactions(item: FeedItem) -> int:
    """The number of likes, reposts and replies of the post, or of the post that it reposts."""
    counts = item.shown.counts
    return counts.likes + counts.reposts + counts.replies


def catch_up(viewer: User, read_id: int | None) -> CatchUp:
    """The posts on home newer than an id (or, without an id, of the last week): at most 200, at most seven days old.

    Promoted posts are excluded; otherwise the rules and filters of home apply.
    """
    week = timezone.now() - timedelta(days=MAX_DAYS)
    floor = id_after(week)
    is_longer_ago = read_id is not None and read_id < floor
    floor = max(floor, read_id or 0)
    items: list[FeedItem] = []
    cursor = Cursor(since_id=floor, limit=MAX_LIMIT)
    for _page in range(MAX_PAGES):
        page = home_timeline(viewer, cursor, promoted=False)
        items += page.items
        if page.older is None:
            break
        cursor = Cursor(max_id=page.older, since_id=floor, limit=MAX_LIMIT)
    else:
        return CatchUp(_moment(floor), items, "posts", cursor.max_id)
    if is_longer_ago:
        return CatchUp(_moment(floor), items, "days", floor + 1)
    return CatchUp(_moment(floor), items, None, None)


def _moment(post_id: int) -> datetime:
    return datetime.fromtimestamp(second_of(post_id), UTC)
