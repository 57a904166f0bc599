"""Celery tasks for notifications."""

from celery import shared_task

from apps.notifications import actions


@shared_task
def purge() -> None:
    """Delete old notifications, if the site limits their age."""
    actions.purge()
