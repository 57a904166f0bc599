"""Celery's entry points to the event outbox."""

from celery import shared_task

from apps.events import actions

SWEEP_LIMIT = 100


@shared_task
def dispatch(event_ids: list[int]) -> None:
    """Run the named events, unless somebody else did."""
    actions.run_due(limit=len(event_ids), only=event_ids)


@shared_task
def sweep() -> None:
    """Run what the doorbell missed: lost messages, dead workers, failed tries."""
    while actions.run_due(limit=SWEEP_LIMIT) == SWEEP_LIMIT:
        pass


@shared_task
def purge() -> None:
    """Forget events that were done days ago."""
    actions.purge_done()
