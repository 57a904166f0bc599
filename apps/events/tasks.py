"""Celery's entry points to the event outbox."""

import time
from datetime import timedelta

from celery import shared_task

from apps.events import actions

SWEEP_LIMIT = 20
SWEEP_SECONDS = 1.0  # as often as it is called: of many workers one or two sweep
UNHEARD = timedelta(
    seconds=1
)  # what is due for so long was not rung for; the rest is somebody's already


@shared_task
def dispatch(event_ids: list[int]) -> None:
    """Run the named events, unless somebody else did."""
    actions.run_due(limit=len(event_ids), only=event_ids)


@shared_task
def sweep() -> None:
    """Run what the doorbell missed: lost messages, dead workers, failed tries.

    The next sweep goes on: one that ran into the time limit of its task would leave rows under a lease that nobody works on.
    """
    until = time.monotonic() + SWEEP_SECONDS
    while actions.run_due(limit=SWEEP_LIMIT, overdue=UNHEARD):
        if time.monotonic() > until:
            return


@shared_task
def purge() -> None:
    """Forget events that were done days ago."""
    actions.purge_done()
