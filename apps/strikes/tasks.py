"""Celery tasks of strikes."""

from celery import shared_task

from apps.strikes import actions


@shared_task
def purge() -> None:
    """Delete evidence that is no longer needed for a decision."""
    actions.purge()
