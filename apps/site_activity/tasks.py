"""The Celery task of weekly activity."""

from celery import shared_task

from apps.site_activity import actions


@shared_task
def count() -> int:
    """Count the posts and accounts created since the last run."""
    return actions.count()
