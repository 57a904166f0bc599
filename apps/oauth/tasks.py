"""What the oauth app does in the background."""

from celery import shared_task

from apps.oauth import actions


@shared_task
def purge() -> None:
    """Forget what nobody can use any more."""
    actions.purge()
