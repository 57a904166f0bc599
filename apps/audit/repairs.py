"""Repairs the auditor's findings: drops or rebuilds derived data, or delivers posts again, but never edits a post."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from apps.accounts.models import UserCounts
from apps.audit.models import AuditFinding, AuditRun, Kind
from apps.events.actions import enqueue
from apps.events.leases import State
from apps.graph.cache import RELATIONS, load_sets
from apps.graph.models import Followee, Follower
from apps.posts.models import Post
from apps.posts.visibility import ADDRESSED
from apps.sql import database_time, lock_each
from apps.timeline.fanout import dispatch, split
from apps.timeline.models import FanoutChunk, FanoutJob
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.structures.home_window import mark_deleted

logger = logging.getLogger(__name__)

IMMEDIATE_CHUNKS = 3
MAX_FINDINGS = 200  # per run; further findings usually have the same cause, and need no rows


def drop_reader_caches(viewer_id: int) -> None:
    """Drop a reader's home cache and inbox, and reload the reader's cached relations."""
    for windows in (HOME, INBOX):
        windows.drop(viewer_id)
    load_sets(RELATIONS, viewer_id)


def redeliver(post_id: int) -> None:
    """Start or resume the delivery of a post, dead chunks included. Idempotent.

    The first `IMMEDIATE_CHUNKS` pending chunks are delivered in this process, and the others are enqueued.
    """
    dispatch.retry_dead([post_id])
    dispatch.start_job(post_id)
    pending = FanoutChunk.objects.filter(job=post_id, state=State.PENDING)
    chunk_ids = list(pending.order_by("pk").values_list("pk", flat=True))
    pending.update(due_at=Now())
    dispatch.run_due(limit=IMMEDIATE_CHUNKS, only=chunk_ids[:IMMEDIATE_CHUNKS])
    enqueue_now(chunk_ids[IMMEDIATE_CHUNKS:])


def restore_chunks(post_id: int) -> bool:
    """Recreate the missing chunks of a delivery, and deliver them. Return whether no chunk is missing."""
    job = FanoutJob.objects.get(pk=post_id)
    if job.post.visibility in ADDRESSED:
        FanoutJob.objects.filter(pk=post_id).update(state=State.PENDING, due_at=Now())
        dispatch.start_job(post_id)
    else:
        split.restore_chunks(job)
        redeliver(post_id)
    return FanoutChunk.objects.filter(job=post_id).count() >= job.parts


def mark_deleted_if_gone(post_id: int) -> None:
    """Store a tombstone unless the post still exists, so that no late delivery adds it again."""
    if not Post.objects.filter(pk=post_id, deleted_at=None).exists():
        mark_deleted(post_id)


def enqueue_now(chunk_ids: list[int]) -> None:
    """Make pending chunks due and enqueue them."""
    FanoutChunk.objects.filter(pk__in=chunk_ids, state=State.PENDING).update(due_at=Now())
    for chunk_id in chunk_ids:
        enqueue("apps.timeline.tasks.deliver_chunk", chunk_id)


@transaction.atomic
def repair_follow(follower_id: int, followee_id: int) -> bool:
    """Make the `Follower` row match the `Followee` row, under the locks of both accounts.

    If an account is gone, delete both rows. Return whether a row was created, changed or deleted. The counts are not
    changed here; the reconciliation continuously compares them with both tables.
    """
    edges = Followee.objects.filter(owner=follower_id, followee=followee_id)
    both = follower_id, followee_id
    is_gone = len(lock_each(UserCounts, both)) < len(both)  # an account has been deleted
    removed = edges.delete()[0] if is_gone else 0
    edge = edges.first()
    mirrors = Follower.objects.filter(owner=followee_id, follower=follower_id)
    if edge is None:
        differed = mirrors.delete()[0] + removed > 0
    elif mirrors.exists():
        differed = mirrors.exclude(notifies=edge.notifies).update(notifies=edge.notifies) > 0
    else:
        mirrors.create(owner_id=followee_id, follower_id=follower_id, notifies=edge.notifies)
        differed = True
    UserCounts.objects.filter(pk=followee_id).update(followers_revision=F("followers_revision") + 1)
    return differed


@dataclass
class AuditPass:
    """A run in progress, with its report and its findings. Without `repairs` it only reports."""

    run: AuditRun = field(default_factory=AuditRun)
    findings: list[AuditFinding] = field(default_factory=list)
    repairs: bool = True

    def found(self, kind: Kind, repair: Callable[[], object], **about: Any) -> None:
        """Record a violation and the outcome of its repair, which fails if it raises or returns False.

        If the violation is already on record, and was not repaired this time either, it is only counted again.
        """
        fixed = self.repairs and _attempt(repair)
        if not fixed and _found_again(kind, **about):
            return
        self.run.violations += 1
        self.run.repaired += fixed
        if len(self.findings) < MAX_FINDINGS:
            when = database_time() if fixed else None
            self.findings.append(AuditFinding(kind=kind, repaired_at=when, **about))
        logger.error("audit: %s %s, %s", kind, about, "repaired" if fixed else "not repaired")


def _found_again(
    kind: Kind,
    *,
    viewer_id: int | None = None,
    post_id: int | None = None,
    details: Mapping[str, Any] | None = None,
) -> bool:
    """Increment the count of an unrepaired finding on record. Return False if there is none."""
    open_ones = AuditFinding.objects.filter(
        kind=kind, viewer_id=viewer_id, post_id=post_id, repaired_at=None
    )
    # these fields distinguish findings about the same post or account
    for name in (
        "id",
        "cache",
        "counts",
        "follower",
        "followee",
    ):
        if details and name in details:
            open_ones = open_ones.filter(**{f"details__{name}": details[name]})
    return count_again(open_ones)


def count_again(earlier: QuerySet[AuditFinding]) -> bool:
    """Increment the count of findings on record. Return False if there are none."""
    return bool(earlier.update(times=F("times") + 1, last_found_at=Now()))


def _attempt(repair: Callable[[], object]) -> bool:
    try:
        return repair() is not False
    except Exception:
        logger.exception("audit: a repair failed")
        return False
