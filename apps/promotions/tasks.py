"""Celery tasks of promotions."""

import time

from celery import shared_task

from apps.events.actions import enqueue
from apps.promotions import actions

# The length of one run; each batch is a separate transaction of tens of milliseconds.
SWEEP_SECONDS = 10.0


@shared_task
def sweep_segments() -> None:
    """Recompute the segments of all accounts, if this is due; enqueue another run if this one takes too long."""
    until = time.monotonic() + SWEEP_SECONDS
    while actions.sweep_batch():
        if time.monotonic() > until:
            enqueue(actions.SWEEP_TASK)
            return


@shared_task
def apply_time() -> None:
    """Begin campaigns whose start date has come, and end campaigns past their end date or budget."""
    actions.apply_time()


@shared_task
def purge_impressions() -> None:
    actions.purge_impressions()
