"""Celery's entry points to fan-out."""

from celery import shared_task

from apps.timeline import fanout

SWEEP_LIMIT = 20


@shared_task
def deliver_chunk(chunk_id: int) -> None:
    """Deliver one chunk, unless somebody else did."""
    fanout.run_due(limit=1, only=[chunk_id])


@shared_task
def sweep() -> None:
    """Deliver the chunks that no doorbell reached."""
    while fanout.run_due(limit=SWEEP_LIMIT) == SWEEP_LIMIT:
        pass
