"""Celery tasks for the event outbox. `leases` claims rows, counts failed attempts and sets the time of the next one."""

from functools import partial

from celery import shared_task

from apps.events import actions, leases

SWEEP_LIMIT, SWEEP_HELPERS = 20, 4
# As long as the interval between two runs, so that one or two workers sweep at a time if there is no backlog.
SWEEP_SECONDS = 1.0


@shared_task
def dispatch(event_ids: list[int]) -> None:
    """Handle the events with these ids, except those that are no longer due."""
    actions.run_due(limit=len(event_ids), only=event_ids)


@shared_task
def sweep(helpers: int = SWEEP_HELPERS) -> None:
    """Handle events whose message was lost, whose worker died, or whose last attempt failed."""
    run = partial(actions.run_due, limit=SWEEP_LIMIT, overdue=actions.SWEEP_OVERDUE)
    actions.sweep(sweep.name, run, limit=SWEEP_LIMIT, seconds=SWEEP_SECONDS, helpers=helpers)


@shared_task
def recall() -> None:
    """Make rows due that were written while PostgreSQL's clock was ahead."""
    leases.recall()


@shared_task
def purge() -> None:
    actions.purge_done()
