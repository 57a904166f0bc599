"""Celery tasks of push messages."""

from celery import shared_task

from apps.events.actions import enqueue
from apps.push import sending


@shared_task
def send(delivery_id: int) -> None:
    """Send a message, unless another worker is sending it or has sent it."""
    sending.run_due(limit=1, only=[delivery_id])


@shared_task
def sweep() -> None:
    """Enqueue messages that are due again; push services may be too slow for the sweep itself."""
    for delivery_id in sending.due():
        enqueue(sending.TASK, delivery_id)


@shared_task
def purge() -> None:
    sending.purge()
