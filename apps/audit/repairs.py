"""Puts right what the auditor found: rebuilds what is derived, and asks again for what was promised. Never edits a post."""

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

CHUNKS_NOW = 3


def drop_reader_caches(viewer_id: int) -> None:
    """Forget what Redis holds for one reader: windows, and how the reader stands to others."""
    for windows in (HOME, INBOX):
        windows.drop(viewer_id)
    load_sets(RELATIONS, viewer_id)


def redeliver(post_id: int) -> None:
    """Hand a post to delivery: begins what never began, goes on with what waits or was given up. Idempotent.

    The first chunks are delivered here and now, the others are rung for.
    """
    dispatch.retry_dead([post_id])
    dispatch.start_job(post_id)
    waiting = FanoutChunk.objects.filter(job=post_id, state=State.PENDING)
    chunk_ids = list(waiting.order_by("pk").values_list("pk", flat=True))
    waiting.update(due_at=timezone.now())
    dispatch.run_due(limit=CHUNKS_NOW, only=chunk_ids[:CHUNKS_NOW])
    enqueue_now(chunk_ids[CHUNKS_NOW:])


def mark_deleted_if_gone(post_id: int) -> None:
    """Leave a tombstone for a post that is deleted, so that no late delivery brings it."""
    if not Post.objects.filter(pk=post_id, deleted_at=None).exists():
        mark_deleted(post_id)


def enqueue_now(chunk_ids: list[int]) -> None:
    """Ring for chunks that nobody takes."""
    FanoutChunk.objects.filter(pk__in=chunk_ids, state=State.PENDING).update(due_at=timezone.now())
    for chunk_id in chunk_ids:
        enqueue("apps.timeline.tasks.deliver_chunk", chunk_id)


@transaction.atomic
def repair_follow(follower_id: int, followee_id: int) -> None:
    """Make the mirror of a follow what the list of whom somebody reads says, under the lock of both accounts.

    The counts are put right by the reconciliation, which compares them with both lists all the time.
    """
    both = UserCounts.objects.filter(pk__in=(follower_id, followee_id)).order_by("pk")
    list(both.select_for_update())
    if Followee.objects.filter(owner=follower_id, followee=followee_id).exists():
        Follower.objects.get_or_create(owner_id=followee_id, follower_id=follower_id)
    else:
        Follower.objects.filter(owner=followee_id, follower=follower_id).delete()
    both.filter(pk=followee_id).update(followers_revision=F("followers_revision") + 1)


logger = logging.getLogger(__name__)

MAX_FINDINGS = 200  # of a turn: who finds more has one cause to look for, not thousands


@dataclass
class AuditPass:
    """One turn while it runs."""

    run: AuditRun = field(default_factory=AuditRun)
    findings: list[AuditFinding] = field(default_factory=list)

    def found(self, kind: Kind, repair: Callable[[], bool], **about: Any) -> None:
        """A violation: note it, repair it, and note whether that helped."""
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
