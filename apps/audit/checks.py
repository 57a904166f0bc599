"""Checks of the delivery ledger, of the two rows of every follow, and of counts, a slice at a time."""

from collections.abc import Callable
from functools import partial
from typing import Any

from apps.audit import repairs
from apps.audit.models import AuditFinding, Kind, Subject
from apps.audit.oracle import Row, rows, snapshot
from apps.audit.repairs import AuditPass
from apps.audit.rounds import Slice, next_slice
from apps.engagement import reconcile
from apps.engagement.reconcile import POSTS, USERS
from apps.graph.models import Followee, Follower
from apps.posts.models import Post
from apps.sql import rows_of
from apps.timeline.fanout.lag import DELIVERY
from apps.timeline.fanout.receipts import CONTENT, ledger_begin
from apps.timeline.models import FanoutChunk

# The number of rows of the current round that a run checks. For deliveries and receipts, a run also checks the same
# number of the newest rows.
DELIVERIES, RECEIPTS, FOLLOWS, COUNTS = 1_000, 500, 10_000, 200
STUCK_SECONDS = 90  # a row overdue for longer is stuck: neither a worker nor a sweep has claimed it

# The posts of a slice and the newest posts, and whether each has neither a job nor a pending event, in which case
# no worker will begin its delivery. Posts older than the first job (written before the ledger existed) or older than
# LEDGER_DAYS (whose deliveries may have been deleted) are left out.
_POSTS = """
WITH post AS (
    (SELECT id FROM posts_post WHERE deleted_at IS NULL ORDER BY id DESC LIMIT %(maximum)s)
    UNION (SELECT id FROM posts_post WHERE deleted_at IS NULL AND id > %(after)s AND id <= %(until)s)
), pending AS (
    SELECT (payload->>'post_id')::bigint AS id FROM events_event
    WHERE state = 'pending' AND name = 'post_published' AND subscriber = %(subscriber)s
)
SELECT post.id, j.post_id IS NULL AND pending.id IS NULL AS undelivered
FROM post LEFT JOIN timeline_fanoutjob j ON j.post_id = post.id LEFT JOIN pending ON pending.id = post.id
WHERE post.id >= %(begin)s AND post.id >= (SELECT min(post_id) FROM timeline_fanoutjob)
"""
# Receipts, and whether each is falsified: without a number, or with a wrong digest of its readers, or with a wrong
# seal. A seal depends on the previous receipt of the job, and is not checked if that receipt is missing.
_RECEIPTS = f"""
WITH picked AS (
    (SELECT id FROM timeline_fanoutchunk WHERE state = 'done' ORDER BY id DESC LIMIT %(maximum)s)
    UNION (SELECT id FROM timeline_fanoutchunk WHERE state = 'done' AND id > %(after)s AND id <= %(until)s)
)
SELECT c.id, c.job_id, c.expected, c.delivered, c.dormant, c.lost,
    c.number = 0 OR (c.number = 1 OR before.id IS NOT NULL)
        AND c.seal <> sha256(coalesce(before.seal, ''::bytea) || {CONTENT.format("c")})
    OR c.reached IS NOT NULL AND c.digest <> sha256(c.reached) AS falsified
FROM picked JOIN timeline_fanoutchunk c USING (id)
LEFT JOIN timeline_fanoutchunk before ON before.job_id = c.job_id AND c.number > 1 AND before.number = c.number - 1
"""  # noqa: S608 -- constants
# Jobs, with their numbers of chunks and receipts, and whether their seal is that of the newest receipt.
_JOBS = """
WITH picked AS (
    (SELECT post_id FROM timeline_fanoutjob ORDER BY post_id DESC LIMIT %(maximum)s)
    UNION (SELECT post_id FROM timeline_fanoutjob WHERE post_id > %(after)s AND post_id <= %(until)s)
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
# The follows of a slice of either table, as (follower, followee), and the matching rows of the other table. Rows of
# different owners may be on different servers, so they are compared in Python.
_FOLLOWEES = (
    "SELECT owner_id, followee_id FROM graph_followee WHERE id > %(after)s AND id <= %(until)s"
)
_FOLLOWERS = (
    "SELECT follower_id, owner_id FROM graph_follower WHERE id > %(after)s AND id <= %(until)s"
)
_PAIRS = "unnest(%(followers)s::bigint[], %(followees)s::bigint[]) AS pair (follower, followee)"
_MIRRORS = f"""
SELECT m.follower_id, m.owner_id FROM graph_follower m
JOIN {_PAIRS} ON m.owner_id = pair.followee AND m.follower_id = pair.follower
"""  # noqa: S608 -- constants
_MIRRORED = f"""
SELECT f.owner_id, f.followee_id FROM graph_followee f
JOIN {_PAIRS} ON f.owner_id = pair.follower AND f.followee_id = pair.followee
"""  # noqa: S608 -- constants
_SIDES: tuple[tuple[Subject, type[Followee] | type[Follower], str, str], ...] = (
    (Subject.FOLLOWING, Followee, _FOLLOWEES, _MIRRORS),
    (Subject.FOLLOWERS, Follower, _FOLLOWERS, _MIRRORED),
)


def check_deliveries(audit_pass: AuditPass) -> None:
    """Report stuck and dead deliveries, and the findings of `check_jobs`."""
    _check_unfinished(audit_pass)
    check_jobs(audit_pass)


def check_jobs(audit_pass: AuditPass) -> None:
    """Report deliveries that never began, were given up, lack chunks or receipts, or have a wrong seal.

    Checks the next slice of posts, and the newest posts.
    """
    with next_slice(Subject.DELIVERIES, Post, DELIVERIES) as part:
        _check_jobs(audit_pass, _bounds(part, DELIVERIES))


def _bounds(part: Slice, maximum: int) -> dict[str, Any]:
    return {"after": part.after, "until": part.until, "maximum": maximum}


def _check_unfinished(audit_pass: AuditPass) -> None:
    for row in rows(_UNFINISHED, {"stuck": STUCK_SECONDS, "maximum": 100}):
        kind = Kind.DEAD if row["state"] == "dead" else Kind.STUCK
        details = {key: row[key] for key in ("id", "attempts", "last_error", "expected")}
        _found_once(audit_pass, kind, row["job_id"], partial(_resume, row), details)


def _check_jobs(audit_pass: AuditPass, bounds: dict[str, Any]) -> None:
    posts = rows(_POSTS, bounds | {"subscriber": DELIVERY, "begin": ledger_begin()})
    audit_pass.run.deliveries += len(posts)
    for post in posts:
        if post["undelivered"]:
            audit_pass.found(
                Kind.UNDELIVERED, partial(repairs.redeliver, post["id"]), post_id=post["id"]
            )
    for job in rows(_JOBS, bounds):
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
    """Report receipts that were changed after they were written, and receipts of chunks that were given up."""
    with next_slice(Subject.RECEIPTS, FanoutChunk, RECEIPTS) as part:
        receipts = rows(_RECEIPTS, _bounds(part, RECEIPTS))
        audit_pass.run.receipts += len(receipts)
        for row in receipts:
            details = {key: row[key] for key in ("id", "expected", "delivered", "dormant", "lost")}
            if row["falsified"]:
                _found_once(audit_pass, Kind.RECEIPT, row["job_id"], _cannot_repair, details)
            elif row["lost"]:
                _found_once(audit_pass, Kind.LOST, row["job_id"], _cannot_repair, details)


def _cannot_repair() -> bool:
    """The `repair` of findings that cannot be repaired."""
    return False


def _found_once(
    audit_pass: AuditPass,
    kind: Kind,
    post_id: int,
    repair: Callable[[], object],
    details: dict[str, Any],
) -> None:
    """Record a finding and try to repair it. If it is on record already, only count it again: staff must handle it."""
    earlier = AuditFinding.objects.filter(kind=kind, post_id=post_id, details__id=details["id"])
    if not repairs.count_again(earlier):
        audit_pass.found(kind, repair, post_id=post_id, details=details)


def _resume(row: Row) -> None:
    if row["state"] == "dead" or not row["id"]:
        repairs.redeliver(row["job_id"])
    else:
        repairs.enqueue_now([row["id"]])


def check_follows(audit_pass: AuditPass) -> None:
    """Check that each follow of a slice has a row in `Followee` and one in `Follower`."""
    for subject, model, statement, mirrors in _SIDES:
        with next_slice(subject, model, FOLLOWS) as part:
            audit_pass.run.follows += part.compared
            for follower, followee in _unmirrored(part, statement, mirrors):
                repair = partial(repairs.repair_follow, follower, followee)
                details = {"follower": follower, "followee": followee}
                audit_pass.found(Kind.MIRROR, repair, viewer_id=follower, details=details)


def _unmirrored(part: Slice, statement: str, mirrors: str) -> list[tuple[int, int]]:
    """The follows of a slice that are missing from the other table, read in one snapshot."""
    with snapshot():
        follows = rows_of(statement, {"after": part.after, "until": part.until})
        ends = {"followers": [one for one, _ in follows], "followees": [one for _, one in follows]}
        known = set(rows_of(mirrors, ends)) if follows else set()
    return [
        (follower, followee) for follower, followee in follows if (follower, followee) not in known
    ]


def check_counts(audit_pass: AuditPass) -> None:
    """Compare the next counts with the counted rows. With repairs, also compare Redis, and correct wrong counts."""
    for subject, counted in ((Subject.POST_COUNTS, POSTS), (Subject.USER_COUNTS, USERS)):
        with next_slice(subject, counted.table.model, COUNTS) as part:
            report = reconcile.Report()
            if audit_pass.repairs:
                reconcile.reconcile_batch(counted, part.after, report, fix=True, limit=COUNTS)
            else:  # without Redis, whose counters do not belong to this database
                report.compared = part.compared
                report.note(counted, counted.drifted(part.ids()))
            audit_pass.run.counts += report.compared
            note_drift(audit_pass, report)


def note_drift(audit_pass: AuditPass, report: reconcile.Report) -> None:
    """Record the wrong counts that a reconciliation found."""
    for (name, where, counted), tally in report.tallies.items():
        worst = {"id": tally.worst.id, "has": tally.worst.has, "should": tally.worst.should}
        drift = {"counts": f"{name}.{counted}", "where": where, "number": tally.number}
        about = {"post_id": worst["id"]} if name == POSTS.name else {"viewer_id": worst["id"]}
        audit_pass.found(Kind.COUNT, lambda: None, details=drift | worst, **about)
