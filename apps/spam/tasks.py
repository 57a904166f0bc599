"""Celery tasks about spam."""

from celery import shared_task

from apps.events.actions import enqueue
from apps.spam import actions
from apps.spam import dry_run as dry_runs

RUN_SECONDS = 900  # longer than the lease, which progress renews


@shared_task(soft_time_limit=RUN_SECONDS, time_limit=RUN_SECONDS + 5)
def dry_run(row_id: int) -> None:
    dry_runs.run_due(limit=1, only=[row_id])


@shared_task
def sweep() -> None:
    """Enqueue dry runs whose message was lost, file reports that waited, and delete what is old."""
    for row_id in dry_runs.due():
        enqueue(dry_runs.TASK, row_id)
    actions.file_waiting()
    actions.purge()
    dry_runs.purge()
