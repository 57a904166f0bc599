"""What the ranking does in the background."""

from celery import shared_task

from apps.ranking import ordering, rank_timeline


@shared_task
def purge() -> None:
    ordering.purge()


@shared_task
def score_delivered(chunk_id: int, after: int = 0) -> None:
    """Bring rank timelines up to date after a delivery. If its message is lost, the next read does it."""
    rank_timeline.score_delivered(chunk_id, after=after)
