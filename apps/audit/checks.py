"""Checks of the delivery ledger, of the two rows of every follow, and of counts, a slice at a time (I1, I4, I11)."""

import secrets
from functools import partial

from apps.audit import repairs
from apps.audit.models import AuditFinding, Kind
from apps.audit.oracle import Row, rows
from apps.audit.repairs import AuditPass
from apps.engagement import reconcile
from apps.engagement.truth import SUBJECTS

DELIVERIES, FOLLOWS, COUNTS = 500, 2_000, 200  # per run
STUCK_SECONDS = 90  # longer than a lease: its worker died, and no sweeper came
DELIVERY = "apps.timeline.handlers.deliver_post"

# The newest deliveries by their events; an event that is done left a job, unless its post was deleted by then.
_UNDELIVERED = """
SELECT post.id FROM (
    SELECT state, (payload->>'post_id')::bigint AS post_id FROM events_event
    WHERE name = 'post_published' AND subscriber = %(subscriber)s ORDER BY id DESC LIMIT %(maximum)s
) AS event
JOIN posts_post post ON post.id = event.post_id AND post.deleted_at IS NULL
WHERE event.state = 'done' AND NOT EXISTS (SELECT 1 FROM timeline_fanoutjob j WHERE j.post_id = post.id)
"""
_UNFINISHED = """
SELECT id, job_id, state, attempts, last_error, expected FROM timeline_fanoutchunk
WHERE state = 'dead' OR (state = 'pending' AND due_at < now() - make_interval(secs => %(stuck)s))
UNION ALL
SELECT 0, post_id, state, attempts, last_error, followers FROM timeline_fanoutjob
WHERE state = 'dead' OR (state = 'pending' AND due_at < now() - make_interval(secs => %(stuck)s))
ORDER BY 2, 1 LIMIT %(maximum)s
"""
# From random rows on, not random ids: ids may be sparse.
_FOLLOWS = """
SELECT f.owner_id AS follower, f.followee_id AS followee
FROM (SELECT owner_id, followee_id FROM graph_followee WHERE id >= %(followee)s ORDER BY id LIMIT %(maximum)s) f
WHERE NOT EXISTS (SELECT 1 FROM graph_follower m WHERE m.owner_id = f.followee_id AND m.follower_id = f.owner_id)
UNION ALL
SELECT m.follower_id, m.owner_id
FROM (SELECT owner_id, follower_id FROM graph_follower WHERE id >= %(follower)s ORDER BY id LIMIT %(maximum)s) m
WHERE NOT EXISTS (SELECT 1 FROM graph_followee f WHERE f.owner_id = m.follower_id AND f.followee_id = m.owner_id)
"""
_ENDS = """
SELECT coalesce((SELECT min(id) FROM graph_followee), 0) AS first_followee,
    coalesce((SELECT max(id) FROM graph_followee), 0) AS last_followee,
    coalesce((SELECT min(id) FROM graph_follower), 0) AS first_follower,
    coalesce((SELECT max(id) FROM graph_follower), 0) AS last_follower
"""


def check_deliveries(turn: AuditPass) -> None:
    """Deliveries that never began, are stuck, or are dead."""
    turn.run.deliveries += DELIVERIES
    values = {"subscriber": DELIVERY, "maximum": DELIVERIES, "stuck": STUCK_SECONDS}
    for row in rows(_UNDELIVERED, values):
        turn.found(Kind.UNDELIVERED, partial(_begin, row["id"]), post_id=row["id"])
    for row in rows(_UNFINISHED, values | {"maximum": 100}):
        kind = Kind.DEAD if row["state"] == "dead" else Kind.STUCK
        if not _is_reported(kind, row):
            turn.found(
                kind,
                partial(_resume, row),
                post_id=row["job_id"],
                details={key: row[key] for key in ("id", "attempts", "last_error", "expected")},
            )


def _is_reported(kind: Kind, row: Row) -> bool:
    """Whether staff have this finding already: a chunk that dies again is left to them."""
    return AuditFinding.objects.filter(
        kind=kind, post_id=row["job_id"], details__id=row["id"]
    ).exists()


def _begin(post_id: int) -> bool:
    repairs.redeliver(post_id)
    return True


def _resume(row: Row) -> bool:
    if row["state"] == "dead" or not row["id"]:
        repairs.redeliver(row["job_id"])
    else:
        repairs.enqueue_now([row["id"]])
    return True


def check_follows(turn: AuditPass) -> None:
    """A slice of the follows: each has a row in `Followee` and one in `Follower`."""
    ends = rows(_ENDS)[0]
    starts = {
        side: _random_start(ends[f"first_{side}"], ends[f"last_{side}"], FOLLOWS)
        for side in ("followee", "follower")
    }
    turn.run.follows += min(FOLLOWS, ends["last_followee"] - ends["first_followee"] + 1)
    for row in rows(_FOLLOWS, {**starts, "maximum": FOLLOWS}):
        repair = partial(_repair_follow, row["follower"], row["followee"])
        turn.found(Kind.MIRROR, repair, viewer_id=row["follower"], details=row)


def _random_start(first: int, last: int, size: int) -> int:
    """The first id of a random slice; the lowest id when the slice holds all."""
    return first + secrets.randbelow(last - first + 1) if last - first >= size else first


def _repair_follow(follower_id: int, followee_id: int) -> bool:
    repairs.repair_follow(follower_id, followee_id)
    return True


def check_counts(turn: AuditPass) -> None:
    """Some counts from a random id on; the reconciliation repairs those that have drifted."""
    for subject in SUBJECTS:
        report = reconcile.Report()
        first, last = subject.table.ends()
        start = first + secrets.randbelow(max(last - first, 1))
        reconcile.reconcile_batch(subject, start - 1, report, fix=True, limit=COUNTS)
        turn.run.counts += report.compared
        for (name, where, counted), tally in report.tallies.items():
            worst = {"id": tally.worst.id, "has": tally.worst.has, "should": tally.worst.should}
            drift = {"counts": f"{name}.{counted}", "where": where, "number": tally.number}
            turn.found(Kind.COUNT, lambda: True, details=drift | worst)
