"""The home timeline: posts of the viewer's followees, of the viewer, and of the viewer's circles; newest first.

Open posts of virtual followees come from the same sources, and pass only while they are promoted to the viewer.

Candidates: the reader's home window (open posts) and inbox (restricted posts) in Redis, rebuilt when missing, merged
with the outboxes of *pulled* authors, whose posts home windows may lack (`policy`). Each window reaches down to its
oldest id: below the higher of the two, and when Redis does not answer, ids come from PostgreSQL (`sources.older`).
`pipeline.page` makes a page of them. *Virtual* followees are accounts that a promotion brings (`apps.promotions`).
"""

import json
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import count as counter
from typing import Any, Self

from django.conf import settings
from django.db import OperationalError
from django.utils.translation import gettext as _

from apps import deadline, shards
from apps.accounts.models import User
from apps.errors import BadRequest
from apps.filters.models import FilterContext
from apps.graph.groups.queries import exclusive_member_ids
from apps.graph.queries import Relations, ask_recent_follows, chosen_languages
from apps.pagination import Cursor, Page
from apps.posts.models import Visibility
from apps.posts.queries import Preloaded
from apps.promotions.queries import ask_promotions
from apps.tags.queries import followed_names
from apps.timeline import policy
from apps.timeline.fanout import lag
from apps.timeline.pipeline.page import (
    Batches,
    Candidates,
    FeedItem,
    Reader,
    Rule,
    fill_page,
    hydrate,
    without_muted_or_hidden,
)
from apps.timeline.pipeline.promoted import (
    Promotions,
    no_promotions,
    promotion_of,
    promotions_for,
    without_promoted,
)
from apps.timeline.pipeline.word_filters import apply_filters
from apps.timeline.sources import merge, older, pulled_authors, sql
from apps.timeline.sources.home_cache import HOME, INBOX, rebuild_home, rebuild_inbox
from feedcache.connections import RedisError, timelines
from feedcache.ids import MAX_ID, answers_another, author_of
from feedcache.read_through import Batch, Future
from feedcache.structures.home_window import (
    WindowRange,
    WindowReads,
    WindowsQuery,
    late_arrivals,
    merge_down,
    merge_up,
    queue_windows,
    read_windows,
    read_windows_up,
)

MAX_POLICY_RELOADS = 2


def home_timeline(
    viewer: User, cursor: Cursor, *, exclude_read: bool | None = None, promoted: bool = True
) -> Page[FeedItem]:
    """A page of the viewer's home. `exclude_read`: without what the viewer has read; None: as the viewer chose.

    `promoted=False` leaves promoted posts out, for programs that may not show their label. Pages that are read upwards
    have none.
    """
    exclude_read = viewer.hides_read if exclude_read is None else exclude_read
    preloaded: Preloaded = {}
    batches = Batches(Batch(), Batch())
    rule = home_rule(
        viewer,
        # no more than a page's share of them, which is counted from its top
        no_promotions
        if cursor.ascending or not promoted
        else ask_promotions(batches.first, viewer.pk),
        ask_recent_follows(batches.second, viewer.pk, viewer.counts.graph_revision),
    )
    page = fill_page(
        candidates(
            viewer, preloaded=preloaded, queued=_queue_ranges(batches.first, viewer.pk, cursor)
        ),
        Reader(viewer, FilterContext.HOME),
        cursor=cursor,
        rule=without_read(rule) if exclude_read else rule,
        preloaded=preloaded,
        batches=batches,
    )
    if cursor.max_id is None and lag.latest.waiting:
        _note_behind(viewer)
    sample_home(viewer.pk, cursor, page, exclude_read=exclude_read, promoted=promoted)
    return page


def _note_behind(viewer: User) -> None:
    """The page says how late it is, if posts of the viewer's followees wait for their delivery."""
    behind = lag.latest.behind_for(viewer.pk, revision=viewer.counts.graph_revision)
    if behind:
        deadline.note_behind(behind)


def home_items(viewer: User, post_ids: Sequence[int], *, promoted: bool = True) -> list[FeedItem]:
    """Those of up to 200 posts that belong on the viewer's home now, in the order given; what was read included."""
    if not post_ids:
        return []
    hydrated = hydrate(viewer.pk, post_ids)
    rule = home_rule(viewer, promotions_for(viewer.pk) if promoted else no_promotions)
    items = rule(hydrated.items, hydrated.relations)
    return apply_filters(viewer, FilterContext.HOME, items)


@dataclass(frozen=True, slots=True)
class _QueuedRanges:
    """The first read of a page's home cache, in the batch that reads the viewer's context."""

    cursor: Cursor
    count: int
    policies: policy.PoliciesInForce
    reads: Future[WindowReads]


def _queue_ranges(batch: Batch, reader_id: int, cursor: Cursor) -> _QueuedRanges | None:
    """None for pages that are read upwards: few are."""
    if cursor.ascending:
        return None
    policies, count = policy.cached(), cursor.wanted
    query = _query_under(policies, reader_id, cursor, count)
    return _QueuedRanges(cursor, count, policies, queue_windows(batch, query))


def _query_under(
    policies: policy.PoliciesInForce, reader_id: int, cursor: Cursor, count: int
) -> WindowsQuery:
    kinds = HOME.of(policies.generation), INBOX
    return WindowsQuery(
        kinds, reader_id, cursor.max_id, cursor.floor, count, version_key=policy.VERSION_KEY
    )


def candidates(
    viewer: User, *, preloaded: Preloaded | None = None, queued: _QueuedRanges | None = None
) -> Candidates:
    """The source of a viewer's home: posts of followees and, pulled at every read, of followed tags.

    Puts the contents of posts below the home cache into `preloaded`.
    """
    revision = viewer.counts.graph_revision
    followed = partial(home_ids, viewer.pk, revision=revision, preloaded=preloaded, queued=queued)
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
    queued: _QueuedRanges | None = None,
) -> list[int]:
    """Up to `count` candidate ids inside the cursor's bounds, in reading order.

    `revision` is the reader's `graph_revision`, if the caller has just read it. Puts the contents of open posts below
    the home cache into `preloaded`.
    """
    try:
        return _home_ids(
            reader_id, cursor, count, revision=revision, preloaded=preloaded, queued=queued
        )
    except OperationalError as error:  # nothing that is read in part may become a home cache
        return shards.partly(partial(sql.home_ids, reader_id, cursor, count), error)


def _home_ids(
    reader_id: int,
    cursor: Cursor,
    count: int,
    *,
    revision: int | None,
    preloaded: Preloaded | None,
    queued: _QueuedRanges | None,
) -> list[int]:
    ascending = cursor.ascending
    read = read_windows_up if ascending else read_windows
    ranges, policies = _cached_ranges(reader_id, cursor, count, read, queued)
    if None in ranges and _rebuild_missing(reader_id, ranges):
        ranges, policies = _cached_ranges(reader_id, cursor, count, read)
    present = [part for part in ranges if part is not None]
    if len(present) < len(ranges):
        return older.home_ids(reader_id, cursor, count, preloaded=preloaded)
    if policies.pulls_all or policies.pulled:
        pulled = pulled_authors.ids_within_deadline(
            reader_id, policies, cursor, count, revision=revision
        )
        present.append(WindowRange(pulled, complete=True))
    merged = (
        merge_up(present, count=count)
        if ascending
        else merge_down(present, newest=cursor.max_id, count=count)
    )
    if merged is None:  # not all windows reach down to the start
        return older.home_ids(reader_id, cursor, count, preloaded=preloaded)
    if not merged.end:
        return merged.ids
    below = cursor.beyond(merged.end)
    rest = older.home_ids(reader_id, below, count - len(merged.ids), preloaded=preloaded)
    return merged.ids + rest


def _cached_ranges(
    reader_id: int,
    cursor: Cursor,
    count: int,
    read: Callable[[WindowsQuery], WindowReads] = read_windows,
    queued: _QueuedRanges | None = None,
) -> tuple[list[WindowRange | None], policy.PoliciesInForce]:
    """The range in the home window and in the inbox, None for a missing one; with the policies of the same moment.

    While all authors are pulled the range of the home window is empty: it misses pushes.
    """

    if queued and (queued.cursor, queued.count) == (cursor, count):
        policies, windows = queued.policies, queued.reads()
    else:
        policies = policy.cached()
        windows = read(_query_under(policies, reader_id, cursor, count))
    for _reload in range(MAX_POLICY_RELOADS):
        if not windows.answered or policies.is_current(windows.version):
            break
        policies = policy.load()  # the windows must be at least as new as the policies
        windows = read(_query_under(policies, reader_id, cursor, count))
    if windows.answered and policies.pulls_all:
        return [WindowRange([], complete=True), *windows.parts[1:]], policies
    return windows.parts, policies


def _rebuild_missing(reader_id: int, ranges: list[WindowRange | None]) -> bool:
    home, inbox = ranges
    return (home is not None or rebuild_home(reader_id)) and (
        inbox is not None or rebuild_inbox(reader_id)
    )


def home_rule(
    viewer: User,
    promotions: Promotions = no_promotions,
    recent_follows: Future[Mapping[int, float]] = dict,
) -> Rule:
    """The rule that keeps those posts, of all that a viewer may see, that belong on the home timeline.

    The newest post of a virtual followee passes with the `promotion` that brings it; only these call `promotions`.
    Posts that came by a followed tag, or are older than the follow, say so.
    """
    counts = viewer.counts  # of what most have nothing
    tags = followed_names(viewer) if counts.followed_tags else ()

    def belonging(items: Sequence[FeedItem], relations: Relations) -> list[FeedItem]:
        # the home cache may still hold former followees; hydration has checked the membership in circles
        followed, followed_since = relations.following | {viewer.pk}, recent_follows()
        authors = {item.post.author_id for item in items}
        in_exclusive_lists = (
            exclusive_member_ids(viewer, among=authors) if counts.exclusive_lists else ()
        )
        languages = chosen_languages(viewer, among=authors) if counts.choosy_follows else {}
        belonging_items = []
        for item in without_muted_or_hidden(items, relations):
            author_id = item.post.author_id
            if (
                author_id in in_exclusive_lists
                or (languages and is_unwanted_language(item, languages))
                or (viewer.hides_replies and is_reply_to_stranger(item, followed))
            ):
                continue
            if author_id in followed or item.post.visibility == Visibility.CIRCLE:
                since = followed_since.get(author_id)
                belonging_items.append(_older_than_follow(item, since) if since else item)
            elif tags and (tag := _followed_tag(item, tags)):
                belonging_items.append(replace(item, followed_tag=tag))
            elif item.post.is_open and (promotion := promotion_of(item.post, promotions())):
                belonging_items.append(replace(item, promotion=promotion))
        return belonging_items

    return belonging


def without_read(rule: Rule) -> Rule:
    """The rule, and nothing that the viewer has read; one unread post in a hundred counts as read."""

    def unread(items: Sequence[FeedItem], relations: Relations) -> list[FeedItem]:
        return [item for item in rule(items, relations) if not item.shown.flags.read]

    return unread


def is_unwanted_language(item: FeedItem, languages: Mapping[int, Collection[str]]) -> bool:
    """Whether the viewer hides this language of the author. False for reposts and for posts without a language.

    `languages` are the chosen ones by author; `pt` includes `pt-BR`.
    """
    chosen = languages.get(item.post.author_id)
    if not chosen or not item.post.language or item.is_repost:
        return False
    language = item.post.language.lower()
    return language not in chosen and language.partition("-")[0] not in chosen


def is_reply_to_stranger(item: FeedItem, followed: Collection[int]) -> bool:
    """Whether a post answers somebody whom its reader does not follow; `followed` includes the reader.

    False for the reader's own posts, for reposts, and for replies of authors to themselves. The id of a deleted or
    hidden parent still says whose it was.
    """
    parent_id = item.post.reply_to_id
    if parent_id is None or item.flags.own or not answers_another(parent_id, item.post.author_id):
        return False
    return author_of(parent_id) not in followed


def _followed_tag(item: FeedItem, tags: Collection[str]) -> str:
    """The first of these tags that a public item has, as it spells it; else empty."""
    if item.post.visibility != Visibility.PUBLIC:
        return ""
    return next((spelled for name, spelled in item.post.tags.items() if name in tags), "")


def _older_than_follow(item: FeedItem, since: float) -> FeedItem:
    """The item with the time of the follow (Unix seconds), if that came later."""
    if item.post.created_ms >= since * 1000:
        return item
    return replace(item, followed_at=datetime.fromtimestamp(since, UTC))


def newer_count(viewer: User, since_id: int, *, maximum: int = 99) -> int:
    """The number of candidates above an id, at most `maximum`, without promoted ones; 0 without a home cache.

    For readers who hide replies to strangers the number of posts: candidates do not say what they are.
    """
    if viewer.hides_replies:
        above = Cursor(since_id=since_id, limit=maximum)
        return len(home_timeline(viewer, above, promoted=False).items)
    above = Cursor(since_id=since_id, limit=maximum)
    ranges, policies = _cached_ranges(viewer.pk, above, maximum)
    ids = {post_id for part in ranges if part for post_id in part.ids}
    revision = viewer.counts.graph_revision
    if ranges[0] is not None and (policies.pulls_all or policies.pulled):
        ids.update(pulled_authors.ids(viewer.pk, policies, above, maximum, revision=revision))
    ids = without_promoted(viewer.pk, ids, revision=revision)
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
            raise BadRequest(_("This is not a place in the feed: %(text)s.") % {"text": text[:40]})
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.newest_id}-{self.at_ms}"


@dataclass(frozen=True, slots=True)
class Activity:
    """Unread items, newest first. `last_id` is the position to continue from; `more`: there are more above it."""

    items: list[FeedItem]
    last_id: str
    more: bool = False


def get_activity(
    viewer: User, last_id: str | None = None, *, limit: int = 20, promoted: bool = True
) -> Activity:
    """About `limit` unread items, newest first: all late arrivals, and the lowest items above the position.

    Without a position the newest page. Continuing from `last_id` skips nothing. `promoted` as for `home_timeline`.
    BadRequest for a malformed position.
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
    items = above.items + late  # late arrivals all lie below the position
    newest = max(position.newest_id, above.newer or 0)
    return Activity(items, str(ReadPosition(newest, began_ms)), more=len(above.items) >= room)


def may_have_unread(viewer: User, position: ReadPosition) -> bool:
    """Whether there are candidates for unread items; cheap, and rebuilds nothing."""
    return bool(newer_count(viewer, position.newest_id, maximum=1) or _late_ids(viewer, position))


def _late_items(viewer: User, position: ReadPosition) -> list[FeedItem]:
    items = home_items(viewer, _late_ids(viewer, position), promoted=False)
    return [item for item in items if not (viewer.hides_read and item.shown.flags.read)]


def _late_ids(viewer: User, position: ReadPosition) -> list[int]:
    since = max(position.at_ms - MAX_SKEW_MS, 0)
    late = late_arrivals((HOME, INBOX), viewer.pk, since_ms=since)
    return [post_id for post_id in late if post_id <= position.newest_id]


# Samples of home pages in Redis, for the auditor: ids and bounds, no texts. One read in `AUDIT_SAMPLE_RATE` per
# process.
SAMPLES_KEY = "audit:reads"
MAX_SAMPLES = 200
SAMPLE_TTL_SECONDS = 3600

_reads = counter(1)


def sample_home(
    viewer_id: int,
    cursor: Cursor,
    page: Page[Any],
    *,
    exclude_read: bool = False,
    promoted: bool = True,
) -> None:
    """Store every `AUDIT_SAMPLE_RATE`th page, unless a source was missing from it. Never fails a page."""
    rate = settings.AUDIT_SAMPLE_RATE
    if not rate or next(_reads) % rate or deadline.missing():
        return
    sample = {
        "viewer": viewer_id,
        "at": time.time(),
        "max_id": cursor.max_id,
        "since_id": cursor.since_id,
        "min_id": cursor.min_id,
        "limit": cursor.limit,
        "ids": [item.id for item in page.items],
        "older": page.older,
        "newer": page.newer,
        "exclude_read": exclude_read,
        "promoted": promoted,
    }
    try:
        pipeline = timelines().pipeline(transaction=False)
        pipeline.lpush(SAMPLES_KEY, json.dumps(sample))
        pipeline.ltrim(SAMPLES_KEY, 0, MAX_SAMPLES - 1)
        pipeline.expire(SAMPLES_KEY, SAMPLE_TTL_SECONDS)
        pipeline.execute()
    except RedisError:
        return


def pop_samples(maximum: int) -> list[dict[str, Any]]:
    """Remove and return up to `maximum` samples, oldest first; none when Redis does not answer."""
    try:
        texts: Any = timelines().rpop(SAMPLES_KEY, maximum)
    except RedisError:
        return []
    return [json.loads(text) for text in texts or ()]
