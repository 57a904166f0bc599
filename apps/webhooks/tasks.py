"""Celery tasks of webhooks."""

from celery import shared_task

from apps.events.actions import enqueue
from apps.webhooks import sending


@shared_task
def send(endpoint_id: int) -> None:
    """Send a batch of an endpoint's due messages, unless another worker is sending; a further task sends the rest."""
    if sending.send_due(endpoint_id) and endpoint_id in sending.due():
        enqueue(sending.TASK, endpoint_id)


@shared_task
def sweep() -> None:
    """Enqueue a task for each endpoint with due messages. Sending them here could take too long for a sweep."""
    for endpoint_id in sending.due():
        enqueue(sending.TASK, endpoint_id)


@shared_task
def purge() -> None:
    sending.purge()
