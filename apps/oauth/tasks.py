"""Celery tasks of OAuth."""

from celery import shared_task

from apps.oauth import actions


@shared_task
def purge() -> None:
    """Delete expired codes and tokens, and applications that nobody used for a month."""
    actions.purge()
