"""Celery's entry point to the counts of tags."""

from celery import shared_task

from apps.tags.counting import count_days


@shared_task
def count_tags() -> None:
    """Count today's and yesterday's uses again."""
    count_days()
