"""Celery's entry points to the graph."""

from celery import shared_task

from apps.graph import actions

UNMUTE_BATCH_SIZE = 500  # each is a transaction of its own, of a few milliseconds


@shared_task
def end_due_mutes() -> None:
    """End the mutes whose time is over; the next run goes on."""
    actions.end_due_mutes(limit=UNMUTE_BATCH_SIZE)
