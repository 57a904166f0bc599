"""Celery tasks of the graph."""

from celery import shared_task

from apps.graph import actions

UNMUTE_BATCH_SIZE = 500  # one transaction each, of a few milliseconds


@shared_task
def end_due_mutes() -> None:
    """End the mutes that have expired; the next run ends the rest."""
    actions.end_due_mutes(limit=UNMUTE_BATCH_SIZE)
