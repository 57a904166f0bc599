"""Celery tasks of sign-up blocks."""

from celery import shared_task

from apps.sign_ups import actions


@shared_task
def purge() -> int:
    """Delete blocks that have ended."""
    return actions.purge()
