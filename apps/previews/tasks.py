"""Celery tasks of link previews."""

from celery import shared_task

from apps.previews import actions

# A page, its picture and two runs of the sandbox at their slowest.
FETCH_SECONDS = 80


@shared_task(soft_time_limit=FETCH_SECONDS, time_limit=FETCH_SECONDS + 5)
def fetch(preview_id: int) -> None:
    """Fetch the page of a preview, unless another worker does."""
    actions.run_due(limit=1, only=[preview_id])


@shared_task
def sweep() -> None:
    """Enqueue previews whose message was lost, or whose time has come again."""
    actions.sweep()


@shared_task
def purge() -> None:
    actions.purge_unused()
