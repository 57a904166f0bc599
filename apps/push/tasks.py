"""Celery tasks of push messages."""

from celery import shared_task

from apps.events.actions import enqueue
from apps.push import sending


@shared_task
def send(delivery_id: int) -> None:
    """Skipped while another worker sends it, and once it is sent."""
    sending.run_due(limit=1, only=[delivery_id])


@shared_task
def sweep() -> None:
    """Enqueue due messages again: push services may take too long for a sweeper."""
    for delivery_id in sending.due():
        enqueue(sending.TASK, delivery_id)


@shared_task
def purge() -> None:
    sending.purge()
