"""Checks of the delivery ledger, of the two rows of every follow, and of counts, a slice at a time (I1, I4, I11)."""

import secrets
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from django.utils import timezone

from apps.audit import repairs
from apps.audit.models import AuditFinding, Kind
from apps.audit.oracle import Row, rows
from apps.audit.repairs import AuditPass
from apps.engagement import reconcile
from apps.engagement.reconcile import POSTS, SUBJECTS
from apps.graph.models import PendingFollow
from apps.posts.models import PendingPost
from apps.timeline.fanout.lag import DELIVERY
from apps.timeline.fanout.receipts import CONTENT

# Per run: so many of the newest, and as many from a random id on.
SLICE, FOLLOWS, COUNTS = 500, 2_000, 200
INTERRUPTED_SECONDS = 60  # longer than a statement may take on any server
STUCK_SECONDS = 90  # longer than a lease: its worker died, and no sweeper came

# Posts of a slice and of the newest, and whether each lacks a job: nothing is left that could begin its delivery. Posts
# older than the first job of all were there before the ledger.
_POSTS = """
WITH post AS (
    (SELECT id FROM posts_post WHERE deleted_at IS NULL ORDER BY id DESC LIMIT %(maximum)s)
    UNION (SELECT id FROM posts_post WHERE deleted_at IS NULL AND id >= %(start)s ORDER BY id LIMIT %(maximum)s)
), pending AS (
    SELECT (payload->>'post_id')::bigint AS id FROM events_event
    WHERE state = 'pending' AND name = 'post_published' AND subscriber = %(subscriber)s
    UNION ALL SELECT post_id FROM posts_pendingpost
)
SELECT post.id, j.post_id IS NULL AND pending.id IS NULL AS undelivered
FROM post LEFT JOIN timeline_fanoutjob j ON j.post_id = post.id LEFT JOIN pending ON pending.id = post.id
WHERE post.id >= (SELECT min(post_id) FROM timeline_fanoutjob)
"""
_POST_ENDS = "SELECT coalesce(min(post_id), 0) AS first, coalesce(max(post_id), 0) AS last FROM timeline_fanoutjob"
_CHUNK_ENDS = (
    "SELECT coalesce(min(id), 0) AS first, coalesce(max(id), 0) AS last FROM timeline_fanoutchunk"
)
# Receipts with the one before each in its job. Where that one is gone nothing can be said of the seal.
_RECEIPTS = f"""
WITH picked AS (
    (SELECT id FROM timeline_fanoutchunk WHERE state = 'done' ORDER BY id DESC LIMIT %(maximum)s)
    UNION (SELECT id FROM timeline_fanoutchunk WHERE state = 'done' AND id >= %(start)s ORDER BY id LIMIT %(maximum)s)
)
SELECT c.id, c.job_id, c.expected, c.delivered, c.dormant, c.lost,
    c.number = 0 OR (c.number = 1 OR before.id IS NOT NULL)
        AND c.seal <> sha256(coalesce(before.seal, ''::bytea) || {CONTENT.format("c")})
    OR c.reached IS NOT NULL AND c.digest <> sha256(c.reached) AS falsified
FROM picked JOIN timeline_fanoutchunk c USING (id)
LEFT JOIN timeline_fanoutchunk before ON before.job_id = c.job_id AND c.number > 1 AND before.number = c.number - 1
"""  # noqa: S608 -- constants
# Of the same slices: jobs that lack chunks, or whose last seal is not that of their newest receipt.
_JOBS = """
WITH picked AS (
    (SELECT post_id FROM timeline_fanoutjob ORDER BY post_id DESC LIMIT %(maximum)s)
    UNION (SELECT post_id FROM timeline_fanoutjob WHERE post_id >= %(start)s ORDER BY post_id LIMIT %(maximum)s)
)
SELECT j.post_id, j.parts, j.lost, count(c.id) AS present, count(c.id) FILTER (WHERE c.number > 0) AS receipts,
    j.receipts AS written, coalesce(bool_or(c.number = j.receipts AND c.seal = j.seal), j.receipts = 0) AS sealed
FROM picked JOIN timeline_fanoutjob j USING (post_id) LEFT JOIN timeline_fanoutchunk c ON c.job_id = j.post_id
GROUP BY j.post_id
"""
_UNFINISHED = """
SELECT id, job_id, state, attempts, last_error, expected FROM timeline_fanoutchunk
WHERE state = 'dead' OR (state = 'pending' AND due_at < now() - make_interval(secs => %(stuck)s))
UNION ALL
SELECT 0, post_id, state, attempts, last_error, followers FROM timeline_fanoutjob
WHERE state = 'dead' OR (state = 'pending' AND due_at < now() - make_interval(secs => %(stuck)s))
ORDER BY 2, 1 LIMIT %(maximum)s
"""
# From random rows on, not random ids: ids may be sparse. The last two rows say how many were compared.
_FOLLOWS = """
WITH forward AS (
    SELECT owner_id, followee_id FROM graph_followee WHERE id >= %(followee)s ORDER BY id LIMIT %(maximum)s
), back AS (
    SELECT owner_id, follower_id FROM graph_follower WHERE id >= %(follower)s ORDER BY id LIMIT %(maximum)s
)
SELECT f.owner_id AS follower, f.followee_id AS followee, 0 AS compared FROM forward f
WHERE NOT EXISTS (SELECT 1 FROM graph_follower m WHERE m.owner_id = f.followee_id AND m.follower_id = f.owner_id)
UNION ALL
SELECT m.follower_id, m.owner_id, 0 FROM back m
WHERE NOT EXISTS (SELECT 1 FROM graph_followee f WHERE f.owner_id = m.follower_id AND f.followee_id = m.owner_id)
UNION ALL SELECT NULL, NULL, count(*) FROM forward
UNION ALL SELECT NULL, NULL, count(*) FROM back
"""
_ENDS = """
SELECT coalesce((SELECT min(id) FROM graph_followee), 0) AS first_followee,
    coalesce((SELECT max(id) FROM graph_followee), 0) AS last_followee,
    coalesce((SELECT min(id) FROM graph_follower), 0) AS first_follower,
    coalesce((SELECT max(id) FROM graph_follower), 0) AS last_follower
"""


def check_deliveries(audit_pass: AuditPass) -> None:
    """Deliveries that never began, lack a chunk, are stuck, dead or given up."""
    _finish_posts(audit_pass)
    ends = rows(_POST_ENDS)[0]
    start = {"maximum": SLICE, "start": _random_start(ends["first"], ends["last"], SLICE)}
    posts = rows(_POSTS, start | {"subscriber": DELIVERY})
    audit_pass.run.deliveries += len(posts)
    for post in posts:
        if post["undelivered"]:
            audit_pass.found(
                Kind.UNDELIVERED, partial(repairs.redeliver, post["id"]), post_id=post["id"]
            )
    for row in rows(_UNFINISHED, {"stuck": STUCK_SECONDS, "maximum": 100}):
        kind = Kind.DEAD if row["state"] == "dead" else Kind.STUCK
        details = {key: row[key] for key in ("id", "attempts", "last_error", "expected")}
        _found_once(audit_pass, kind, row["job_id"], partial(_resume, row), details)
    for job in rows(_JOBS, start):
        details = {
            "id": 0,
            **{key: job[key] for key in ("parts", "present", "written", "receipts")},
        }
        if job["present"] < job["parts"]:
            audit_pass.found(
                Kind.CHUNK,
                partial(repairs.restore_chunks, job["post_id"]),
                post_id=job["post_id"],
                details=details,
            )
        elif not job["sealed"] or job["receipts"] != job["written"]:
            _found_once(audit_pass, Kind.RECEIPT, job["post_id"], _cannot_repair, details)
        if job["lost"]:
            lost = {"id": 0, "lost": job["lost"]}
            _found_once(audit_pass, Kind.LOST, job["post_id"], _cannot_repair, lost)


def check_receipts(audit_pass: AuditPass) -> None:
    """Receipts that were changed after they were written, and those of chunks that were given up."""
    ends = rows(_CHUNK_ENDS)[0]
    start = _random_start(ends["first"], ends["last"], SLICE)
    receipts = rows(_RECEIPTS, {"maximum": SLICE, "start": start})
    audit_pass.run.receipts += len(receipts)
    for row in receipts:
        details = {key: row[key] for key in ("id", "expected", "delivered", "dormant", "lost")}
        if row["falsified"]:
            _found_once(audit_pass, Kind.RECEIPT, row["job_id"], _cannot_repair, details)
        elif row["lost"]:
            _found_once(audit_pass, Kind.LOST, row["job_id"], _cannot_repair, details)


def _cannot_repair() -> bool:
    """What was written about the past cannot be brought back."""
    return False


def _found_once(
    audit_pass: AuditPass,
    kind: Kind,
    post_id: int,
    repair: Callable[[], object],
    details: dict[str, Any],
) -> None:
    """Record it unless staff have this finding already: a chunk that dies again is left to them."""
    earlier = AuditFinding.objects.filter(kind=kind, post_id=post_id, details__id=details["id"])
    if not earlier.exists():
        audit_pass.found(kind, repair, post_id=post_id, details=details)


def _resume(row: Row) -> None:
    if row["state"] == "dead" or not row["id"]:
        repairs.redeliver(row["job_id"])
    else:
        repairs.enqueue_now([row["id"]])


def check_follows(audit_pass: AuditPass) -> None:
    """A slice of the follows: each has a row in `Followee` and one in `Follower`. And all that were interrupted."""
    _finish_follows(audit_pass)
    ends = rows(_ENDS)[0]
    starts = {
        side: _random_start(ends[f"first_{side}"], ends[f"last_{side}"], FOLLOWS)
        for side in ("followee", "follower")
    }
    for row in rows(_FOLLOWS, {**starts, "maximum": FOLLOWS}):
        audit_pass.run.follows += row.pop("compared")
        if row["follower"] is not None:
            repair = partial(repairs.repair_follow, row["follower"], row["followee"])
            audit_pass.found(Kind.MIRROR, repair, viewer_id=row["follower"], details=row)


def _finish_posts(audit_pass: AuditPass) -> None:
    """What the journal of posts on several servers still holds (`apps.posts.actions.journal`)."""
    oldest = timezone.now() - timedelta(seconds=INTERRUPTED_SECONDS)
    for pending in PendingPost.objects.filter(created_at__lt=oldest).order_by("pk")[:SLICE]:
        if repairs.finish_post(pending):
            about = {"viewer_id": pending.author_id, "post_id": pending.post_id}
            audit_pass.found(Kind.INTERRUPTED, lambda: None, **about)


def _finish_follows(audit_pass: AuditPass) -> None:
    """What the journal of follows on several servers still holds (`apps.graph.journal`)."""
    oldest = timezone.now() - timedelta(seconds=INTERRUPTED_SECONDS)
    for pending in PendingFollow.objects.filter(created_at__lt=oldest).order_by("pk")[:SLICE]:
        follow = {"follower": pending.follower_id, "followee": pending.followee_id}
        if repairs.finish_follow(pending):
            audit_pass.found(
                Kind.MIRROR, lambda: None, viewer_id=follow["follower"], details=follow
            )


def _random_start(first: int, last: int, size: int) -> int:
    """The first id of a random slice; the lowest id when the slice holds all."""
    return first + secrets.randbelow(last - first + 1) if last - first >= size else first


def check_counts(audit_pass: AuditPass) -> None:
    """Some counts from a random id on; the reconciliation repairs those that have drifted."""
    for subject in SUBJECTS:
        report = reconcile.Report()
        first, last = subject.table.ends()
        start = first + secrets.randbelow(max(last - first, 1))
        reconcile.reconcile_batch(subject, start - 1, report, fix=True, limit=COUNTS)
        audit_pass.run.counts += report.compared
        note_drift(audit_pass, report)


def note_drift(audit_pass: AuditPass, report: reconcile.Report) -> None:
    """Record the counts that a reconciliation has repaired."""
    for (name, where, counted), tally in report.tallies.items():
        worst = {"id": tally.worst.id, "has": tally.worst.has, "should": tally.worst.should}
        drift = {"counts": f"{name}.{counted}", "where": where, "number": tally.number}
        about = {"post_id": worst["id"]} if name == POSTS.name else {"viewer_id": worst["id"]}
        audit_pass.found(Kind.COUNT, lambda: None, details=drift | worst, **about)
