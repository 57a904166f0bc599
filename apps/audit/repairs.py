"""Repairs of what the auditor finds: drop or rebuild derived data, and deliver again. They never edit a post."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.accounts.models import UserCounts
from apps.audit.models import AuditFinding, AuditRun, Kind
from apps.events.actions import enqueue
from apps.events.leases import State
from apps.graph.cache import RELATIONS, load_sets
from apps.graph.models import Followee, Follower
from apps.posts.models import Post
from apps.timeline.fanout import dispatch
from apps.timeline.models import FanoutChunk
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.structures.home_window import mark_deleted

logger = logging.getLogger(__name__)

IMMEDIATE_CHUNKS = 3
MAX_FINDINGS = 200  # per run: more have one cause, and need no more rows


def drop_reader_caches(viewer_id: int) -> None:
    """Drop a reader's home cache, and reload the cached relations."""
    for windows in (HOME, INBOX):
        windows.drop(viewer_id)
    load_sets(RELATIONS, viewer_id)


def redeliver(post_id: int) -> None:
    """Start or resume the delivery of a post, dead chunks included. Idempotent.

    Delivers the first `IMMEDIATE_CHUNKS` in this process and enqueues the others.
    """
    dispatch.retry_dead([post_id])
    dispatch.start_job(post_id)
    pending = FanoutChunk.objects.filter(job=post_id, state=State.PENDING)
    chunk_ids = list(pending.order_by("pk").values_list("pk", flat=True))
    pending.update(due_at=timezone.now())
    dispatch.run_due(limit=IMMEDIATE_CHUNKS, only=chunk_ids[:IMMEDIATE_CHUNKS])
    enqueue_now(chunk_ids[IMMEDIATE_CHUNKS:])


def mark_deleted_if_gone(post_id: int) -> None:
    """Leave a tombstone for a deleted post, so that no late delivery adds it again."""
    if not Post.objects.filter(pk=post_id, deleted_at=None).exists():
        mark_deleted(post_id)


def enqueue_now(chunk_ids: list[int]) -> None:
    """Make pending chunks due and enqueue them."""
    FanoutChunk.objects.filter(pk__in=chunk_ids, state=State.PENDING).update(due_at=timezone.now())
    for chunk_id in chunk_ids:
        enqueue("apps.timeline.tasks.deliver_chunk", chunk_id)


@transaction.atomic
def repair_follow(follower_id: int, followee_id: int) -> None:
    """Make the `Follower` row match the `Followee` row, under the lock of both accounts.

    The counts are left to the reconciliation, which compares them with both tables all the time.
    """
    both = UserCounts.objects.filter(pk__in=(follower_id, followee_id)).order_by("pk")
    list(both.select_for_update())
    if Followee.objects.filter(owner=follower_id, followee=followee_id).exists():
        Follower.objects.get_or_create(owner_id=followee_id, follower_id=follower_id)
    else:
        Follower.objects.filter(owner=followee_id, follower=follower_id).delete()
    both.filter(pk=followee_id).update(followers_revision=F("followers_revision") + 1)


@dataclass
class AuditPass:
    """A run in progress: its report and its findings."""

    run: AuditRun = field(default_factory=AuditRun)
    findings: list[AuditFinding] = field(default_factory=list)

    def found(self, kind: Kind, repair: Callable[[], bool], **about: Any) -> None:
        """Record a violation, try to repair it, and record whether that helped."""
        self.run.violations += 1
        fixed = _attempt(repair)
        self.run.repaired += fixed
        if len(self.findings) < MAX_FINDINGS:
            when = timezone.now() if fixed else None
            self.findings.append(AuditFinding(kind=kind, repaired_at=when, **about))
        logger.error("audit: %s %s, %s", kind, about, "repaired" if fixed else "not repaired")


def _attempt(repair: Callable[[], bool]) -> bool:
    try:
        return repair()
    except Exception:
        logger.exception("audit: a repair failed")
        return False
