"""Celery tasks for notifications."""

from celery import shared_task

from apps.notifications import actions


@shared_task
def purge() -> None:
    """Delete old notifications, where the site keeps them for a while only."""
    actions.purge()
