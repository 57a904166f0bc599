"""Reads a period of a reader's home from the tables, the pages and the caches, and compares the results."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.accounts.models import User
from apps.audit.comparison.pages import missing_in_windows
from apps.audit.oracle import Oracle
from apps.errors import Invalid
from apps.pagination import MAX_LIMIT, Cursor, Page, id_after
from apps.timeline import policy
from apps.timeline.history.as_of import home_as_of
from apps.timeline.home import home_timeline
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.ids import first_id_at

MAX_DAYS = 31


@dataclass(frozen=True, slots=True)
class Replay:
    """Ids of posts of a period, without promoted ones.

    `then` is the home page as of the end of the period; `cached` is the part in Redis.
    """

    expected: set[int]  # according to the tables, now
    shown: set[int]  # according to the pages, now
    then: set[int]
    cached: set[int]
    lacking: set[int]  # missing from the home cache or the inbox within the range that it covers
    late: int  # the number missing there (not only of the period) because they are still being delivered
    is_cached: bool

    @property
    def is_right(self) -> bool:
        """Whether pages and caches match the tables. `then` may differ, because follows may have changed."""
        return self.expected == self.shown and not self.lacking

    @property
    def differing(self) -> list[int]:
        """The ids on which tables, pages, caches or `then` disagree, newest first."""
        ids = (self.expected ^ self.shown) | self.lacking | (self.then ^ self.shown)
        return sorted(ids, reverse=True)


def replay(viewer: User, since: datetime, until: datetime) -> Replay:
    """Read a period of a reader's home from each source; of a long one, only the newest `oracle.MAX_POSTS` posts.

    Raises Invalid if the period is negative or too long, and BadRequest if it ends in the future.
    """
    if not timedelta() <= until - since <= timedelta(days=MAX_DAYS):
        raise Invalid(f"The end must be 0 to {MAX_DAYS} days after the beginning.")
    above, below = max(first_id_at(int(since.timestamp())) - 1, 0), id_after(until)
    oracle = Oracle.of_viewer(viewer.pk, above=above, below=below)
    above = oracle.answers_above
    lacking, late = missing_in_windows(viewer.pk)
    windows = [window.whole(viewer.pk) for window in (HOME.of(policy.refresh().generation), INBOX)]
    cached = {post_id for window in windows if window is not None for post_id in window.ids}
    return Replay(
        expected=set(oracle.home(viewer.pk, promoted=False)),
        shown=_walk(
            lambda cursor: home_timeline(viewer, cursor, exclude_read=False, promoted=False),
            above,
            below,
        ),
        then=_walk(lambda cursor: home_as_of(viewer, until, cursor).page, above, below),
        cached={post_id for post_id in cached if above < post_id < below},
        lacking={post_id for post_id in lacking if above < post_id < below},
        late=late,
        is_cached=windows[0] is not None,
    )


def _walk(page_at: Callable[[Cursor], Page[FeedItem]], above: int, below: int) -> set[int]:
    found: set[int] = set()
    position: int | None = below
    while position is not None:
        page = page_at(Cursor(max_id=position, since_id=above or None, limit=MAX_LIMIT))
        found.update(item.id for item in page.items)
        position = page.older
    return found
