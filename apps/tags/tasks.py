"""Celery tasks of tags."""

from celery import shared_task

from apps.tags.trends import count_days


@shared_task
def count_tags() -> None:
    """Recount today's and yesterday's uses."""
    count_days()
