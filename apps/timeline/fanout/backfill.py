"""Backfill: push the posts of an author's pull period to the followers who are online, in chunks, idempotently.

The author stays pulled until the last receipt. A dead chunk leaves it so: pages stay right at a slightly higher cost, until
staff retry it.
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
POSTS_PER_CALL = 100  # keeps a script with a full chunk of readers to some milliseconds


def run_splits(*, limit: int, overdue: timedelta = NOW, only: list[int] | None = None) -> int:
    """Claim due backfills and split their follower lists to the end; the number claimed."""
    return _work_off(Backfill, _split, limit=limit, overdue=overdue, only=only)


def run_due(*, limit: int, overdue: timedelta = NOW, only: list[int] | None = None) -> int:
    """Claim due chunks of backfills and deliver them; the number claimed."""
    return _work_off(BackfillChunk, _deliver, limit=limit, overdue=overdue, only=only)


def _work_off(
    model: type[R], work: Callable[[R], tuple[int, leases.Receipt]], **options: Any
) -> int:
    """As `leases.work_off`; then stop pulling the authors for whom this was the last chunk."""
    author_ids: set[int] = set()

    def work_and_note_author(row: R) -> leases.Receipt:
        author_id, receipt = work(row)
        author_ids.add(author_id)
        return receipt

    claimed = leases.work_off(model, work_and_note_author, **options)
    for author_id in author_ids:
        switch.stop_pulling(author_id)
    return claimed


def _split(job: Backfill) -> tuple[int, leases.Receipt]:
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
        counts = windows.push(readers, posts, news=False)  # pulled pages have shown them
        if any(counts):  # else all of these posts are deleted
            delivered, dormant = counts
    receipt = {"expected": delivered + dormant, "delivered": delivered, "dormant": dormant}
    return job.author_id, receipt


def retry_dead(job_ids: list[int]) -> int:
    """Give dead chunks and dead splits of backfills five more tries; the sweeper finds them. The number of rows."""
    jobs = leases.revive_dead(Backfill, pk__in=job_ids)
    return len(jobs) + len(leases.revive_dead(BackfillChunk, job__in=job_ids))
