"""Celery tasks of push messages."""

from celery import shared_task

from apps.events.actions import enqueue
from apps.push import sending


@shared_task
def send(delivery_id: int) -> None:
    """Send a message, unless another worker is sending it or has sent it, or enough workers are sending already."""
    sending.run_due(limit=1, only=[delivery_id])


@shared_task
def sweep() -> None:
    """Enqueue a task for each due message. The sweep itself sends none, because push services may be too slow."""
    for delivery_id in sending.due():
        enqueue(sending.TASK, delivery_id)


@shared_task
def purge() -> None:
    sending.purge()
