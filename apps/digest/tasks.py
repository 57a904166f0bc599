"""Celery tasks for the weekly e-mail."""

from celery import shared_task

from apps.digest import sending
from apps.events.actions import enqueue


@shared_task
def make() -> None:
    """Insert this week's e-mails if they are missing (weeks begin on Monday, UTC), and delete old ones."""
    sending.make_issues()
    sending.purge()


@shared_task
def send(issue_id: int) -> None:
    """Send an e-mail, unless another worker is sending it or has sent it, or enough workers are sending already."""
    sending.run_due(limit=1, only=[issue_id])


@shared_task
def sweep() -> None:
    """Enqueue some of the due e-mails."""
    for issue_id in sending.due():
        enqueue(sending.TASK, issue_id)
