"""Celery tasks of the weekly mail."""

from celery import shared_task

from apps.digest import sending
from apps.events.actions import enqueue


@shared_task
def make() -> None:
    """The mails of this week, once; from Monday on, in UTC."""
    sending.make_issues()
    sending.purge()


@shared_task
def send(issue_id: int) -> None:
    """Skipped while another worker sends it, and once it is sent."""
    sending.run_due(limit=1, only=[issue_id])


@shared_task
def sweep() -> None:
    """Enqueue some of the due mails."""
    for issue_id in sending.due():
        enqueue(sending.TASK, issue_id)
