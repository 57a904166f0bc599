"""Celery tasks of strikes."""

from celery import shared_task

from apps.strikes import actions


@shared_task
def purge() -> None:
    """Delete evidence of posts, long after the decision."""
    actions.purge()
