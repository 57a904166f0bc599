"""Celery tasks for fan-out and for the maintenance of timelines."""

from functools import partial

from celery import shared_task

from apps.events import actions as events
from apps.graph.actions import purge_past_relations
from apps.tags.actions import purge_past_follows
from apps.timeline import publishing
from apps.timeline.fanout import auto_policy, dispatch, receipts, switch
from apps.timeline.sources import replica, square

SWEEP_LIMIT, SWEEP_HELPERS = 5, 2
SCHEDULED_LIMIT = 20
SWEEP_SECONDS = 0.5  # per run (one a second), so that a backlog does not occupy a worker


@shared_task
def split_job(post_id: int) -> None:
    """Split the follower list of a large delivery, unless another worker has claimed it."""
    dispatch.run_splits(limit=1, only=[post_id])


@shared_task
def deliver_chunk(chunk_id: int) -> None:
    """Deliver one chunk, unless another worker has claimed it."""
    dispatch.run_due(limit=1, only=[chunk_id])


@shared_task
def split_backfill(backfill_id: int) -> None:
    """Split the follower list of a backfill, unless another worker has claimed it."""
    switch.split_backfills(limit=1, only=[backfill_id])


@shared_task
def deliver_backfill(chunk_id: int) -> None:
    """Deliver one chunk of a backfill, unless another worker has claimed it."""
    switch.run_backfills(limit=1, only=[chunk_id])


@shared_task
def maintain_policies() -> None:
    switch.maintain()


@shared_task
def measure_policies() -> None:
    """Measure a batch of the authors whose policy is `auto`, and choose their mode again."""
    auto_policy.measure_all()


@shared_task
def sweep(helpers: int = SWEEP_HELPERS) -> None:
    """Run overdue jobs and chunks, also of backfills: their messages were lost or are late, or they are retries."""
    run = partial(dispatch.run_due, limit=SWEEP_LIMIT, overdue=events.SWEEP_OVERDUE)
    events.sweep(sweep.name, run, limit=SWEEP_LIMIT, seconds=SWEEP_SECONDS, helpers=helpers)


@shared_task
def publish_due() -> None:
    while publishing.publish_due(limit=SCHEDULED_LIMIT) == SCHEDULED_LIMIT:
        pass


@shared_task
def maintain_replicas() -> None:
    """Fill in older posts on each shard and delete expired ones, a few batches per run (`sources.replica`)."""
    replica.maintain()


@shared_task
def purge_history() -> None:
    """Delete old deliveries and backfills, and ended relations and tag follows that `history.as_of` no longer needs."""
    purge_past_relations()
    purge_past_follows()
    receipts.purge_ledger()


@shared_task
def repair_square() -> None:
    square.repair()
