"""Celery tasks for the graph."""

from celery import shared_task

from apps.graph import actions

UNMUTE_BATCH_SIZE = 500  # each mute ends in its own transaction of a few milliseconds


@shared_task
def end_due_mutes() -> None:
    """End a batch of expired mutes; the next run ends the rest."""
    actions.end_due_mutes(limit=UNMUTE_BATCH_SIZE)
