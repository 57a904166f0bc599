"""Compares home pages and windows (home caches and inboxes) with the oracle, and excuses legitimate differences.

A page claims a range of ids, within which it must show exactly the oracle's posts, but may leave out promoted ones and,
with `exclude_read`, read ones. The oracle reads the database later than the page was made, so not every difference is a
fault. If a change in between left a dated row (a post, a deletion, a follow, a block, a ledger receipt), its date
excuses the difference. If it left no row (an unfollow, an unmute), the auditor later makes the page again at the same
cursor, and the new page agrees with the oracle.
"""

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Self

from django.conf import settings

from apps.audit.models import Kind
from apps.audit.oracle import MAX_ID, OPEN, Oracle, Row, rows, snapshot
from apps.engagement.cache import READS
from apps.pagination import Cursor, Page
from apps.posts.visibility import FOLLOWED_BACK, depending_on
from apps.timeline import policy
from apps.timeline.sources import virtual_follows
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.ids import EPOCH, author_of, authors_of, first_id_at
from feedcache.structures.bloom import check_many
from feedcache.structures.home_window import WindowRange

SLACK_SECONDS = 2.0  # tolerance for differing clocks, and for the time until a commit

# The dates that can excuse differences on a viewer's page. Posts, relations and the ledger may be on different servers,
# so they are queried one after another, and the results are combined in Python.
_POSTS = """
SELECT p.id, p.author_id, p.kind, p.visibility, p.circle_id, p.source_id, p.created_at, p.edited_at, p.deleted_at,
    author.suspended_at
FROM posts_post p JOIN accounts_user author ON author.id = p.author_id
WHERE p.id = ANY(%(posts)s) AND p.author_id = ANY(%(authors)s)
"""
_SINCE = """
SELECT 'followed' AS name, followee_id AS other, created_at AS since FROM graph_followee
WHERE owner_id = %(viewer)s AND followee_id = ANY(%(authors)s)
UNION ALL
SELECT 'followed back', owner_id, created_at FROM graph_followee
WHERE followee_id = %(viewer)s AND owner_id = ANY(%(authors)s)
UNION ALL
SELECT 'blocked', blocked_id, created_at FROM graph_block
WHERE owner_id = %(viewer)s AND blocked_id = ANY(%(authors)s)
UNION ALL
SELECT 'blocked', owner_id, created_at FROM graph_block
WHERE blocked_id = %(viewer)s AND owner_id = ANY(%(authors)s)
UNION ALL
SELECT 'muted', muted_id, created_at FROM graph_mute
WHERE owner_id = %(viewer)s AND muted_id = ANY(%(authors)s)
UNION ALL
SELECT 'member', group_id, created_at FROM graph_circlemember
WHERE member_id = %(viewer)s AND group_id = ANY(%(circles)s)
UNION ALL
SELECT 'closed', id, deleted_at FROM graph_circle WHERE id = ANY(%(circles)s) AND deleted_at IS NOT NULL
"""
_SINCE_VIRTUALLY = """
SELECT 'followed' AS name, account_id AS other, created_at AS since FROM {virtual} v
WHERE user_id = %(viewer)s AND account_id = ANY(%(authors)s)
"""
_SINCE_BY_TAG = """
SELECT 'subscribed' AS name, u.post_id AS other, max(f.created_at) AS since
FROM tags_tagfollow f JOIN tags_taguse u ON u.tag_id = f.tag_id
WHERE f.user_id = %(viewer)s AND u.post_id = ANY(%(posts)s) GROUP BY u.post_id
"""
_LEDGER = """
SELECT p.id, j.post_id IS NULL AS unstarted, coalesce(j.state = 'pending', false) AS splitting,
    coalesce(j.mode = 'pull', false) AS pulled,
    (SELECT max(coalesce(c.finished_at, now() + interval '1 day')) FROM timeline_fanoutchunk c
     WHERE c.job_id = p.id AND c.state <> 'dead') AS delivered
FROM unnest(%(posts)s::bigint[]) AS p (id) LEFT JOIN timeline_fanoutjob j ON j.post_id = p.id
"""
_MAKES_ABSENT = ("deleted", "suspended", "closed", "blocked", "muted")


@dataclass(frozen=True, slots=True)
class Difference:
    """A missing, extra, repeated or misplaced post or, with `Kind.CACHED`, the key of a wrong cached value."""

    kind: Kind
    post_id: int
    certain: bool = False  # wrong when the page was shown: reported without a second look
    late: bool = False  # still being delivered or backfilled


@dataclass(frozen=True, slots=True)
class Sample:
    """A home page that was shown: its cursor, its ids, and the cursors of the neighbouring pages."""

    viewer: int
    at: float  # seconds since 1970
    limit: int
    ids: list[int] = field(default_factory=list)
    max_id: int | None = None
    since_id: int | None = None
    min_id: int | None = None
    older: int | None = None
    newer: int | None = None
    exclude_read: bool = False
    promoted: bool = True  # whether promoted posts were requested

    @classmethod
    def of_page(
        cls,
        viewer_id: int,
        at: float,
        cursor: Cursor,
        page: Page[Any],
        *,
        exclude_read: bool = False,
        promoted: bool = True,
    ) -> Self:
        return cls(
            viewer_id,
            at,
            ids=[item.id for item in page.items],
            older=page.older,
            newer=page.newer,
            exclude_read=exclude_read,
            promoted=promoted,
            **asdict(cursor),
        )

    @property
    def cursor(self) -> Cursor:
        return Cursor(self.max_id, self.since_id, self.min_id, self.limit)

    @property
    def claims(self) -> tuple[int, int]:
        """The range of ids (exclusive) within which the page must be correct."""
        above, below = self.cursor.floor, self.max_id or MAX_ID
        if self.min_id is not None and self.newer is not None:
            below = min(below, self.newer + 1)
        if self.min_id is None and self.older is not None:
            above = max(above, self.older - 1)
        return above, min(below, first_id_at(max(int(self.at) + 1, EPOCH)))


def differences(sample: Sample) -> list[Difference]:
    """The differences between a page and the oracle now, except those that dates excuse."""
    found = _in_itself(sample)
    above, below = sample.claims
    oracle = Oracle.of_viewer(sample.viewer, above=above, below=below, also=sample.ids)
    above = oracle.answers_above
    allowed = set(oracle.home(sample.viewer, promoted=sample.promoted))
    # promoted posts are not expected, because a page shows only a few of them
    expected = set(oracle.home(sample.viewer, promoted=False))
    # ids later than the time of the page are not compared: they come from a clock that is ahead of this one
    shown = {post_id for post_id in sample.ids if above < post_id < below}
    dates = _dates(sample.viewer, shown - allowed)
    extra = [_extra(sample, post_id, dates.get(post_id)) for post_id in sorted(shown - allowed)]
    missing = expected - shown
    if sample.exclude_read:
        missing -= read_posts(sample.viewer, oracle, missing)
    found += unexcused(sample.viewer, sample.at, missing)
    return found + [difference for difference in extra if difference is not None]


def unexcused(
    viewer_id: int, at: float, missing: set[int], *, in_window: bool = False
) -> list[Difference]:
    """The missing posts that no date excuses at the time `at`; `late` marks those still being delivered.

    With `in_window`, posts that were published in the mode pull may be missing, because they were not pushed.
    """
    rows_of_dates = _dates(viewer_id, missing).values()
    found = [_missing(at, dates) for dates in rows_of_dates if not (in_window and dates["pulled"])]
    return [difference for difference in found if difference is not None]


def _in_itself(sample: Sample) -> list[Difference]:
    """Posts that are wrong whatever the tables contain: repeated, the first one out of order, or outside the cursor."""
    ids, cursor = sample.ids, sample.cursor
    repeated = [post_id for post_id in set(ids) if ids.count(post_id) > 1]
    ordered = zip(ids, sorted(ids, reverse=True), strict=True)
    misplaced = [post_id for post_id, expected in ordered if post_id != expected][:1]
    misplaced += [post_id for post_id in ids if not cursor.admits(post_id)]
    return [
        *(Difference(Kind.REPEATED, post_id, certain=True) for post_id in repeated),
        *(Difference(Kind.ORDER, post_id, certain=True) for post_id in misplaced),
    ]


def read_posts(viewer_id: int, oracle: Oracle, post_ids: set[int]) -> set[int]:
    """The posts that the viewer has read, and reposts whose source is read. Only the existence filter records reads."""
    posts = [oracle.posts[post_id] for post_id in post_ids]
    shown = {
        post["id"]: post["source_id"] if post["kind"] == "repost" else post["id"] for post in posts
    }
    read = check_many(viewer_id, {READS: set(shown.values())})[READS].perhaps
    return {post_id for post_id, shown_id in shown.items() if shown_id in read}


def _dates(viewer_id: int, post_ids: set[int]) -> dict[int, dict[str, Any]]:
    """For each post that has a row, what can excuse a difference: flags, and Unix times of events (or None)."""
    if not post_ids:
        return {}
    with snapshot():
        posts = _posts(post_ids)
        shared = {post["source_id"] for post in posts.values() if post["kind"] == "repost"}
        sources = _posts(shared - {None})
        since = _since(viewer_id, posts, sources)
        ledger = {row.pop("id"): row for row in rows(_LEDGER, {"posts": list(posts)})}
    return {
        post_id: _dates_of(viewer_id, post, _source(post, sources), since)
        | {name: _seconds(value) for name, value in ledger[post_id].items()}
        for post_id, post in posts.items()
    }


def _source(post: Row, sources: dict[int, Row]) -> Row:
    """The row of a repost's source; empty for other posts, and if there is no such row."""
    return sources.get(post["source_id"], {}) if post["kind"] == "repost" else {}


def _posts(ids: set[int]) -> dict[int, Row]:
    values = {"posts": list(ids), "authors": list(authors_of(ids))}
    return {row["id"]: row for row in rows(_POSTS, values)} if ids else {}


# Times by the kind of relation and the id of the account, circle or post.
_Since = dict[tuple[str, int | None], float]


def _since(viewer_id: int, posts: dict[int, Row], sources: dict[int, Row]) -> _Since:
    """For each relation that adds posts to the viewer's home, or removes posts from it: when it began."""
    both = [*posts.values(), *sources.values()]
    values = {
        "viewer": viewer_id,
        "posts": list(posts),
        "authors": list({post["author_id"] for post in both}),
        "circles": list({post["circle_id"] for post in posts.values()} - {None}),
    }
    virtually = _SINCE_VIRTUALLY.format(virtual=virtual_follows.table())
    since: _Since = {}
    for statement in (_SINCE, virtually, _SINCE_BY_TAG):
        for row in rows(statement, values):
            key, at = (row["name"], row["other"]), row["since"].timestamp()
            since[key] = max(since.get(key, at), at)
    return since


def _dates_of(viewer_id: int, post: Row, source: Row, since: _Since) -> dict[str, Any]:
    authors = [post["author_id"], source.get("author_id")]
    needs_follow_back = post["visibility"] in depending_on(FOLLOWED_BACK)
    joined = [
        since.get(("member", post["circle_id"])),
        since.get(("followed back", post["author_id"])) if needs_follow_back else None,
    ]
    return {
        "id": post["id"],
        "own": post["author_id"] == viewer_id,
        "created": _seconds(post["created_at"]),
        "edited": _seconds(post["edited_at"]),
        "deleted": _first(_seconds(one.get("deleted_at")) for one in (post, source)),
        "suspended": _last(_seconds(one.get("suspended_at")) for one in (post, source)),
        "closed": since.get(("closed", post["circle_id"])),
        "joined": _last(joined),
        "subscribed": since.get(("subscribed", post["id"])),
        **{
            name: _last(since.get((name, author)) for author in authors)
            for name in ("followed", "blocked", "muted")
        },
    }


def _seconds(value: Any) -> Any:
    return value.timestamp() if isinstance(value, datetime) else value


def _first(moments: Iterable[float | None]) -> float | None:
    return min((one for one in moments if one is not None), default=None)


def _last(moments: Iterable[float | None]) -> float | None:
    return max((one for one in moments if one is not None), default=None)


def _missing(read_at: float, dates: dict[str, Any]) -> Difference | None:
    """The difference for a missing post; None if the post did not have to be there yet."""
    at, promised = read_at - SLACK_SECONDS, read_at - settings.AUDIT_PROMISE_SECONDS
    if (
        dates["created"] > at
        or (dates["edited"] or 0) > promised
        or (dates["subscribed"] or 0) > at
    ):
        return None
    # after a follow, or after joining a circle, a backfill adds older posts within the same time as a delivery
    if max(dates["followed"] or 0, dates["joined"] or 0) > promised:
        return Difference(Kind.MISSING, dates["id"], late=True)
    unstarted = dates["unstarted"] and dates["created"] > promised
    on_the_way = unstarted or dates["splitting"] or (dates["delivered"] or 0) > at
    return Difference(Kind.MISSING, dates["id"], late=on_the_way and not dates["own"])


def _extra(sample: Sample, post_id: int, dates: dict[str, Any] | None) -> Difference | None:
    """The difference for an extra post; None if one of `_MAKES_ABSENT` happened, but only after the page was made."""
    if dates is None:
        return Difference(Kind.EXTRA, post_id, certain=True)  # no row, not even of a deleted post
    whens = [dates[name] for name in _MAKES_ABSENT if dates[name] is not None]
    if any(when < sample.at - SLACK_SECONDS for when in whens):
        return Difference(Kind.EXTRA, post_id, certain=True)
    return None if whens else Difference(Kind.EXTRA, post_id)


def missing_in_windows(reader_id: int) -> tuple[list[int], int]:
    """The ids missing from the ranges of a reader's windows, and how many more are still being delivered."""
    now, missing, policies = time.time(), set(), policy.refresh()
    for windows in (INBOX,) if policies.pulls_all else (HOME, INBOX):
        window = windows.whole(reader_id)
        if window is not None:
            missing |= _missing_in(reader_id, window, is_open=windows is HOME)
    # pulled authors' posts need not be in home windows; those missing from the inbox are not reported either
    missing = {post_id for post_id in missing if author_of(post_id) not in policies.pulled}
    found = unexcused(reader_id, now, missing, in_window=True)
    late = sum(difference.late for difference in found)
    return [difference.post_id for difference in found if not difference.late], late


def _missing_in(reader_id: int, window: WindowRange, *, is_open: bool) -> set[int]:
    above = 0 if window.complete or not window.ids else window.ids[-1] - 1
    oracle = Oracle.of_viewer(reader_id, above=above)
    # `delivered` leaves out posts that only a followed tag adds: they are pulled, so no window has them
    return {
        post_id
        for post_id in oracle.delivered(reader_id)
        if (oracle.posts[post_id]["visibility"] in OPEN) == is_open
    } - set(window.ids)
