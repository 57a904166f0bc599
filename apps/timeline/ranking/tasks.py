"""What the ranking does in the background."""

from celery import shared_task

from apps.timeline.ranking import ordering


@shared_task
def purge() -> None:
    ordering.purge()
