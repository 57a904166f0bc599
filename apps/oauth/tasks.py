"""Celery tasks for OAuth."""

from celery import shared_task

from apps.oauth import actions


@shared_task
def purge() -> None:
    """Delete old codes and tokens, and old applications that have neither."""
    actions.purge()
