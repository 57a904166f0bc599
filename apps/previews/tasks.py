"""Celery tasks of link previews."""

from celery import shared_task

from apps.previews import actions

# Enough for the slowest fetches of a page and its picture, and two runs of the sandbox.
FETCH_SECONDS = 80


@shared_task(soft_time_limit=FETCH_SECONDS, time_limit=FETCH_SECONDS + 5)
def fetch(preview_id: int) -> None:
    """Fetch the page for a preview if the fetch is due, and not too many pages are being fetched."""
    actions.run_due(limit=1, only=[preview_id])


@shared_task
def sweep() -> None:
    """Enqueue previews whose task message was lost, or that must be retried."""
    actions.sweep()


@shared_task
def purge() -> None:
    actions.purge_unused()
