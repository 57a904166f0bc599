"""Celery tasks of the ranking."""

from celery import shared_task

from apps.ranking import ordering, rank_timeline


@shared_task
def purge() -> None:
    ordering.purge()


@shared_task
def score_delivered(chunk_id: int, after: int = 0) -> None:
    """Update rank timelines after a delivery. If the task is lost, the next read updates them."""
    rank_timeline.score_delivered(chunk_id, after=after)
