"""The Celery task of the weeks of the site."""

from celery import shared_task

from apps.site_activity import actions


@shared_task
def count() -> int:
    """Count the posts and accounts that were made since the last run."""
    return actions.count()
