"""The home timeline: posts of the viewer's followees, of the viewer, and of the viewer's circles; newest first.

Skeleton: the reader's home window (open posts) and inbox (restricted posts) in Redis, each rebuilt when it is missing,
merged with the outboxes of *pulled* authors, whose posts home windows may lack (`policy`). Below the higher of their ends,
and when Redis does not answer, ids come from PostgreSQL (`sources.older`). Then hydrate, rules, top up (`pipeline.page`).
"""

import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Self

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
from apps.timeline.pipeline.page import Rule, Source, fill_page, not_muted_nor_hidden
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

MAX_POLICY_RELOADS = 2


def home_timeline(viewer: User, cursor: Cursor) -> Page[FeedItem]:
    preloaded: Preloaded = {}
    page = fill_page(
        candidates(viewer, preloaded=preloaded),
        viewer_id=viewer.pk,
        cursor=cursor,
        rule=home_rule(viewer),
        preloaded=preloaded,
    )
    samples.sample_home(viewer.pk, cursor, page)
    return page


def candidates(viewer: User, *, preloaded: Preloaded | None = None) -> Source:
    """The source of a viewer's home: posts of followees and, pulled at every read, of followed tags.

    Puts the contents of posts below the home cache into `preloaded`.
    """
    followed = partial(
        home_ids, viewer.pk, revision=viewer.counts.graph_revision, preloaded=preloaded
    )
    if not viewer.counts.followed_tags:
        return followed

    def with_tags(cursor: Cursor, count: int) -> list[int]:
        tagged = sql.followed_tag_ids(viewer.pk, cursor, count)
        return merge.first_ids([followed(cursor, count), tagged], count, ascending=cursor.ascending)

    return with_tags


def home_ids(
    reader_id: int,
    cursor: Cursor,
    count: int,
    *,
    revision: int | None = None,
    preloaded: Preloaded | None = None,
) -> list[int]:
    """Up to `count` candidate ids inside the cursor's bounds, in reading order.

    `revision` is the reader's `graph_revision`, if the caller has just read it. Puts the contents of open posts below the
    home cache into `preloaded`.
    """
    ranges, policies = _cached_ranges(reader_id, cursor, count)
    if None in ranges and _rebuild_missing(reader_id, ranges):
        ranges, policies = _cached_ranges(reader_id, cursor, count)
    if None not in ranges and (policies.pulls_all or policies.pulled):
        pulled = pulled_authors.ids_within_deadline(
            reader_id, policies, cursor, count, revision=revision
        )
        ranges = [*ranges, WindowRange(pulled, complete=True)]
    merged = _merge(ranges, cursor, count)
    if merged is None:
        return older.home_ids(reader_id, cursor, count, preloaded=preloaded)
    if not merged.end:
        return merged.ids
    below = cursor.beyond(merged.end)
    rest = older.home_ids(reader_id, below, count - len(merged.ids), preloaded=preloaded)
    return merged.ids + rest


def _cached_ranges(
    reader_id: int, cursor: Cursor, count: int
) -> tuple[list[WindowRange | None], policy.PoliciesInForce]:
    """The range in the home window and in the inbox, None for a missing one; with the policies of the same moment.

    While all authors are pulled the range of the home window is empty: it misses pushes.
    """
    batch, policies = _read(reader_id, cursor, count)
    for _reload in range(MAX_POLICY_RELOADS):
        if not batch.answered or policies.is_current(batch.extra):
            break
        policy.load()  # and read again: the windows must be at least as new as the policies
        batch, policies = _read(reader_id, cursor, count)
    if batch.answered and policies.pulls_all:
        return [WindowRange([], complete=True), *batch.parts[1:]], policies
    return batch.parts, policies


def _read(reader_id: int, cursor: Cursor, count: int) -> tuple[WindowReads, policy.PoliciesInForce]:
    policies = policy.cached()
    read = read_windows_up if cursor.ascending else read_windows
    batch = read(
        (HOME.of(policies.generation), INBOX),
        reader_id,
        oldest=cursor.floor,
        newest=cursor.max_id,
        count=count,
        extra_key=policy.VERSION_KEY,
    )
    return batch, policies


def _rebuild_missing(reader_id: int, ranges: list[WindowRange | None]) -> bool:
    home, inbox = ranges
    return (home is not None or rebuild_home(reader_id)) and (
        inbox is not None or rebuild_inbox(reader_id)
    )


def _merge(ranges: list[WindowRange | None], cursor: Cursor, count: int) -> Merged | None:
    """All ranges as one list; None when one is missing, so that PostgreSQL has to answer."""
    present = [part for part in ranges if part is not None]
    if len(present) < len(ranges):
        return None
    if cursor.ascending:
        return merge_up(present, count=count)
    return merge_down(present, newest=cursor.max_id, count=count)


def home_rule(viewer: User) -> Rule:
    """Which of the posts that a viewer may see belong on the home timeline."""
    return partial(
        _belongs,
        viewer_id=viewer.pk,
        in_exclusive_lists=kept_off_home(viewer),
        tags=followed_names(viewer),
        languages=chosen_languages(viewer),
    )


def _belongs(
    item: FeedItem,
    relations: Relations,
    *,
    viewer_id: int,
    in_exclusive_lists: Collection[int],
    tags: Collection[str],
    languages: Mapping[int, Collection[str]],
) -> bool:
    author_id = item.post.author_id
    if author_id in in_exclusive_lists:
        return False
    if languages and is_unwanted_language(item, languages):
        return False
    # the home cache may still hold former followees; hydration has checked the membership in circles
    followed = author_id == viewer_id or author_id in relations.following
    in_circle = item.post.visibility == Visibility.CIRCLE
    belongs = followed or in_circle or _has_tag(item, tags)
    return belongs and not_muted_nor_hidden(item, relations)


def is_unwanted_language(item: FeedItem, languages: Mapping[int, Collection[str]]) -> bool:
    """Whether the viewer hides this language of the author. False for reposts and for posts without a language.

    `languages` are the chosen ones by author; `pt` includes `pt-BR`.
    """
    chosen = languages.get(item.post.author_id)
    if not chosen or not item.post.language or item.is_repost:
        return False
    language = item.post.language.lower()
    return language not in chosen and language.partition("-")[0] not in chosen


def _has_tag(item: FeedItem, tags: Collection[str]) -> bool:
    """Whether an item is public, and has one of these tags."""
    return item.post.visibility == Visibility.PUBLIC and not item.post.tags.keys().isdisjoint(tags)


def newer_count(viewer: User, since_id: int, *, maximum: int = 99) -> int:
    """The number of candidates above an id, at most `maximum`; 0 when the viewer has no home cache."""
    above = Cursor(since_id=since_id, limit=maximum)
    ranges, policies = _cached_ranges(viewer.pk, above, maximum)
    ids = {post_id for part in ranges if part for post_id in part.ids}
    if ranges[0] is not None and (policies.pulls_all or policies.pulled):
        revision = viewer.counts.graph_revision
        ids.update(pulled_authors.ids(viewer.pk, policies, above, maximum, revision=revision))
    if viewer.counts.followed_tags:
        ids.update(sql.followed_tag_ids(viewer.pk, above, maximum))
    return min(maximum, len(ids))


MAX_SKEW_MS = 1000  # between the clocks of Redis and of the web servers
_POSITION = re.compile(r"([0-9]{1,19})-([0-9]{1,15})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """How far a reader has read: the newest id on the page, and when it was read (Unix milliseconds)."""

    newest_id: int
    at_ms: int

    @classmethod
    def of(cls, page: Page[FeedItem]) -> Self:
        """The position after a page that begins at the top."""
        return cls(page.newer or 0, round(time.time() * 1000))

    @classmethod
    def parse(cls, text: str) -> Self:
        """The inverse of `str`; a plain post id counts as read just now. BadRequest for anything else."""
        match = _POSITION.fullmatch(text if "-" in text else f"{text}-{round(time.time() * 1000)}")
        if match is None or int(match[1]) > MAX_ID:
            raise BadRequest(_("This is no place in the feed: %(text)s.") % {"text": text[:40]})
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.newest_id}-{self.at_ms}"


@dataclass(frozen=True, slots=True)
class Activity:
    """Unread items, newest first. `last_id` is the position to continue from; `more`: there are unread items above it."""

    items: list[FeedItem]
    last_id: str
    more: bool = False


def get_activity(viewer: User, last_id: str | None = None, *, limit: int = 20) -> Activity:
    """About `limit` unread items, newest first: all late arrivals, and the lowest items above the position.

    Without a position the newest page. Continuing from `last_id` skips nothing. BadRequest for a malformed position.
    """
    began_ms = round(time.time() * 1000)
    if not last_id:
        page = home_timeline(viewer, Cursor(limit=limit))
        return Activity(page.items, str(ReadPosition(page.newer or 0, began_ms)))
    position = ReadPosition.parse(last_id)
    late = _late_items(viewer, position)
    room = max(limit - len(late), 1)
    above = home_timeline(viewer, Cursor(min_id=position.newest_id, limit=room))
    items = above.items + late  # late arrivals all lie below the position
    newest = max(position.newest_id, above.newer or 0)
    return Activity(items, str(ReadPosition(newest, began_ms)), more=len(above.items) >= room)


def may_have_unread(viewer: User, position: ReadPosition) -> bool:
    """Whether there are candidates for unread items; cheap, and rebuilds nothing."""
    return bool(newer_count(viewer, position.newest_id, maximum=1) or _late_ids(viewer, position))


def _late_items(viewer: User, position: ReadPosition) -> list[FeedItem]:
    hydrated = hydrate(viewer.pk, _late_ids(viewer, position))
    rule = home_rule(viewer)
    return [item for item in hydrated.items if rule(item, hydrated.relations)]


def _late_ids(viewer: User, position: ReadPosition) -> list[int]:
    since = max(position.at_ms - MAX_SKEW_MS, 0)
    late = late_arrivals((HOME, INBOX), viewer.pk, since_ms=since)
    return [post_id for post_id in late if post_id <= position.newest_id]
