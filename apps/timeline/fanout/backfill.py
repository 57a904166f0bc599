"""Backfill: the posts of an author's pull period are brought to the windows of those online, in chunks, idempotently.

The author stays merged until the last receipt. A chunk that is a dead letter keeps it so: pages are right, and a little
dearer, until staff have looked at it.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from apps.events import leases
from apps.events.actions import enqueue
from apps.graph.queries import follower_ids_between
from apps.timeline import policy
from apps.timeline.fanout import ledger, switch
from apps.timeline.models import Backfill, BackfillChunk
from apps.timeline.sources.home_cache import HOME

NOW = timedelta()
R = TypeVar("R", bound=leases.LeasedRow)
POSTS_PER_CALL = 100  # with as many readers as make a script of some milliseconds


def run_splits(*, limit: int, overdue: timedelta = NOW, only: list[int] | None = None) -> int:
    """Claim due backfills and cut their follower lists to the end; how many were claimed."""
    return _work_off(Backfill, _cut, limit=limit, overdue=overdue, only=only)


def run_due(*, limit: int, overdue: timedelta = NOW, only: list[int] | None = None) -> int:
    """Claim due chunks of backfills and deliver them; how many were claimed."""
    return _work_off(BackfillChunk, _deliver, limit=limit, overdue=overdue, only=only)


def _work_off(kind: type[R], work: Callable[[R], tuple[int, leases.Receipt]], **how: Any) -> int:
    """As the leases do; and then, where this was the last of it, the author is merged no longer."""
    authors: set[int] = set()

    def noting(row: R) -> leases.Receipt:
        author_id, receipt = work(row)
        authors.add(author_id)
        return receipt

    claimed = leases.work_off(kind, noting, **how)
    for author_id in authors:
        switch.stop_pulling(author_id)
    return claimed


def _cut(job: Backfill) -> tuple[int, leases.Receipt]:
    if job.post_ids:
        for batch in ledger.split(job, job.author_id):
            for chunk_id in batch.chunk_ids:
                enqueue("apps.timeline.tasks.deliver_backfill", chunk_id)
    return job.author_id, {}


def _deliver(chunk: BackfillChunk) -> tuple[int, leases.Receipt]:
    job, windows = chunk.job, HOME.of(policy.refresh().generation)
    readers = follower_ids_between(
        job.author_id, first_edge=chunk.first_edge, last_edge=chunk.last_edge
    )
    delivered = dormant = 0
    for start in range(0, len(job.post_ids), POSTS_PER_CALL):
        posts = job.post_ids[start : start + POSTS_PER_CALL]
        found = windows.push(readers, posts, news=False)  # merged pages have shown them
        if any(found):  # else all of them have been deleted
            delivered, dormant = found
    receipt = {"expected": delivered + dormant, "delivered": delivered, "dormant": dormant}
    return job.author_id, receipt


def retry_dead(job_ids: list[int]) -> int:
    """Give the dead chunks of backfills, and backfills that were not cut, five more tries; the sweeper finds them."""
    jobs = leases.revive_dead(Backfill, pk__in=job_ids)
    return len(jobs) + len(leases.revive_dead(BackfillChunk, job__in=job_ids))
