"""Compares a home page that was shown, or a cached window, with the oracle, and excuses legitimate differences.

A page claims a range of ids, within which it must show exactly the oracle's posts. Some differences prove nothing,
since the oracle reads later than the page was made. A change with a dated row (a post, a deletion, a follow, a block, a
receipt of the ledger) is excused by that date; a change without a row (an unfollow, an unmute) by a second look.
"""

import time
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from django.conf import settings

from apps.audit.models import Kind
from apps.audit.oracle import MAX_ID, OPEN, Oracle, rows
from apps.engagement.cache import READS
from apps.pagination import Cursor, Page
from apps.posts.visibility import FOLLOWED_BACK, depending_on, has_visibility
from apps.timeline import policy
from apps.timeline.sources import virtual_follows
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.ids import EPOCH, author_of, first_id_at
from feedcache.structures.bloom import check_many
from feedcache.structures.home_window import WindowRange

SLACK_SECONDS = 2.0  # between the clocks of two machines, and between a decision and its commit

# The dates that can excuse differences of a viewer's page: seconds since 1970, NULL for events that never happened.
_DATES = f"""
SELECT p.id, p.author_id = %(viewer)s AS own,
    extract(epoch FROM p.created_at) AS created, extract(epoch FROM p.edited_at) AS edited,
    extract(epoch FROM least(p.deleted_at, s.deleted_at)) AS deleted,
    extract(epoch FROM greatest(pa.suspended_at, sa.suspended_at)) AS suspended,
    extract(epoch FROM c.deleted_at) AS closed,
    (SELECT extract(epoch FROM max(created_at)) FROM (
        SELECT owner_id, followee_id, created_at FROM graph_followee
        UNION ALL SELECT user_id, account_id, created_at FROM {{virtual}} v
     ) f WHERE f.owner_id = %(viewer)s AND f.followee_id IN (p.author_id, s.author_id)) AS followed,
    (SELECT extract(epoch FROM max(created_at)) FROM graph_block b
     WHERE (b.owner_id = %(viewer)s AND b.blocked_id IN (p.author_id, s.author_id))
        OR (b.blocked_id = %(viewer)s AND b.owner_id IN (p.author_id, s.author_id))) AS blocked,
    (SELECT extract(epoch FROM max(created_at)) FROM graph_mute m
     WHERE m.owner_id = %(viewer)s AND m.muted_id IN (p.author_id, s.author_id)) AS muted,
    extract(epoch FROM greatest(
        (SELECT max(created_at) FROM graph_circlemember cm
         WHERE cm.member_id = %(viewer)s AND cm.group_id = p.circle_id),
        (SELECT max(created_at) FROM graph_followee back
         WHERE back.owner_id = p.author_id AND back.followee_id = %(viewer)s
           AND {has_visibility(depending_on(FOLLOWED_BACK), "p")})
    )) AS joined,
    (SELECT extract(epoch FROM max(f.created_at)) FROM tags_tagfollow f JOIN tags_taguse u ON u.tag_id = f.tag_id
     WHERE f.user_id = %(viewer)s AND u.post_id = p.id) AS subscribed,
    NOT EXISTS (SELECT 1 FROM timeline_fanoutjob j WHERE j.post_id = p.id) AS unstarted,
    EXISTS (SELECT 1 FROM timeline_fanoutjob j WHERE j.post_id = p.id AND j.state = 'pending') AS splitting,
    EXISTS (SELECT 1 FROM timeline_fanoutjob j WHERE j.post_id = p.id AND j.mode = 'pull') AS pulled,
    (SELECT extract(epoch FROM max(coalesce(ch.finished_at, now() + interval '1 day'))) FROM timeline_fanoutchunk ch
     WHERE ch.job_id = p.id AND ch.state <> 'dead') AS delivered
FROM posts_post p
JOIN accounts_user pa ON pa.id = p.author_id
LEFT JOIN LATERAL (SELECT * FROM posts_post WHERE id = p.source_id AND p.kind = 'repost' LIMIT 1) s ON true
LEFT JOIN accounts_user sa ON sa.id = s.author_id
LEFT JOIN graph_circle c ON c.id = p.circle_id
WHERE p.id = ANY(%(posts)s)
"""  # noqa: S608 -- constants
_MAKES_ABSENT = ("deleted", "suspended", "closed", "blocked", "muted")


@dataclass(frozen=True, slots=True)
class Difference:
    """A missing or extra post. `certain`: no second look could excuse it."""

    kind: Kind
    post_id: int
    certain: bool = False
    late: bool = False  # still within the time that the ledger promises


@dataclass(frozen=True, slots=True)
class Sample:
    """A home page that was shown: its cursor, its ids, and the cursors of the pages beside it."""

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
        """The range of ids (exclusive) within which the page must be right."""
        above, below = self.cursor.floor, self.max_id or MAX_ID
        if self.min_id is not None and self.newer is not None:
            below = min(below, self.newer + 1)
        if self.min_id is None and self.older is not None:
            above = max(above, self.older - 1)
        return above, min(below, first_id_at(max(int(self.at) + 1, EPOCH)))


def differences(sample: Sample) -> list[Difference]:
    """The differences between a page and the oracle now, without those that dates excuse."""
    found = _in_itself(sample)
    above, below = sample.claims
    oracle = Oracle.of_viewer(sample.viewer, above=above, below=below, also=sample.ids)
    above = oracle.answers_above
    allowed = set(oracle.home(sample.viewer, promoted=sample.promoted))
    # a page shows few of the promoted posts
    expected = set(oracle.home(sample.viewer, promoted=False))
    # an id later than the time of the page came from a clock that is ahead of ours
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
    """Those of the missing posts that should have been there at that time, or were on their way.

    A window need not hold posts of pulled authors (`in_window`).
    """
    rows_of_dates = _dates(viewer_id, missing).values()
    found = [_missing(at, dates) for dates in rows_of_dates if not (in_window and dates["pulled"])]
    return [difference for difference in found if difference is not None]


def _in_itself(sample: Sample) -> list[Difference]:
    """Repetitions, the first post out of order, and posts outside the cursor: wrong whatever the database holds."""
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
    """The posts that the viewer has read, directly or by their source: only the existence filter records it."""
    posts = [oracle.posts[post_id] for post_id in post_ids]
    shown = {
        post["id"]: post["source_id"] if post["kind"] == "repost" else post["id"] for post in posts
    }
    read = check_many(viewer_id, {READS: set(shown.values())})[READS].perhaps
    return {post_id for post_id, shown_id in shown.items() if shown_id in read}


def _dates(viewer_id: int, post_ids: set[int]) -> dict[int, dict[str, Any]]:
    if not post_ids:
        return {}
    query = _DATES.format(virtual=virtual_follows.table())
    return {row["id"]: row for row in rows(query, {"viewer": viewer_id, "posts": list(post_ids)})}


def _missing(read_at: float, dates: dict[str, Any]) -> Difference | None:
    """None if the post did not have to be there yet."""
    at, promised = read_at - SLACK_SECONDS, read_at - settings.AUDIT_PROMISE_SECONDS
    if (
        dates["created"] > at
        or (dates["edited"] or 0) > promised
        or (dates["subscribed"] or 0) > at
    ):
        return None
    # after a follow or when somebody joins a circle, a backfill adds older posts within the same promise as a delivery
    if max(dates["followed"] or 0, dates["joined"] or 0) > promised:
        return Difference(Kind.MISSING, dates["id"], late=True)
    unstarted = dates["unstarted"] and dates["created"] > promised
    on_the_way = unstarted or dates["splitting"] or (dates["delivered"] or 0) > at
    return Difference(Kind.MISSING, dates["id"], late=on_the_way and not dates["own"])


def _extra(sample: Sample, post_id: int, dates: dict[str, Any] | None) -> Difference | None:
    """None if the post was right when the page was made."""
    if dates is None:
        return Difference(Kind.EXTRA, post_id, certain=True)  # the post never existed
    whens = [dates[name] for name in _MAKES_ABSENT if dates[name] is not None]
    if any(when < sample.at - SLACK_SECONDS for when in whens):
        return Difference(Kind.EXTRA, post_id, certain=True)
    return None if whens else Difference(Kind.EXTRA, post_id)


def missing_in_windows(reader_id: int) -> tuple[list[int], int]:
    """Posts missing from a reader's windows within the range that these cover; and the number of late ones."""
    now, missing, policies = time.time(), set(), policy.refresh()
    for windows in (INBOX,) if policies.pulls_all else (HOME, INBOX):
        window = windows.whole(reader_id)
        if window is not None:
            missing |= _missing_in(reader_id, window, is_open=windows is HOME)
    # home windows need not hold posts of pulled authors
    missing = {post_id for post_id in missing if author_of(post_id) not in policies.pulled}
    found = unexcused(reader_id, now, missing, in_window=True)
    late = sum(difference.late for difference in found)
    return [difference.post_id for difference in found if not difference.late], late


def _missing_in(reader_id: int, window: WindowRange, *, is_open: bool) -> set[int]:
    above = 0 if window.complete or not window.ids else window.ids[-1] - 1
    oracle = Oracle.of_viewer(reader_id, above=above)
    return {
        post_id
        for post_id in oracle.delivered(reader_id)  # posts by tags are pulled when a page is read
        if (oracle.posts[post_id]["visibility"] in OPEN) == is_open
    } - set(window.ids)
