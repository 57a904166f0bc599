"""Celery's entry points to the event outbox."""

from functools import partial

from celery import shared_task

from apps.events import actions
from apps.events.sweeping import UNHEARD
from apps.events.sweeping import sweep as sweep_with_helpers

SWEEP_LIMIT, SWEEP_HELPERS = 20, 4
SWEEP_SECONDS = (
    1.0  # as often as it is called: of many workers one or two sweep, unless there is a backlog
)


@shared_task
def dispatch(event_ids: list[int]) -> None:
    """Run the named events, unless somebody else did."""
    actions.run_due(limit=len(event_ids), only=event_ids)


@shared_task
def sweep(helpers: int = SWEEP_HELPERS) -> None:
    """Run what the doorbell missed: lost messages, dead workers, failed tries."""
    run = partial(actions.run_due, limit=SWEEP_LIMIT, overdue=UNHEARD)
    sweep_with_helpers(sweep.name, run, limit=SWEEP_LIMIT, seconds=SWEEP_SECONDS, helpers=helpers)


@shared_task
def purge() -> None:
    """Forget events that were done days ago."""
    actions.purge_done()
