"""Celery tasks that maintain counts and existence filters."""

import logging

from celery import shared_task

from apps.engagement import rebuild, reconcile
from apps.events.actions import enqueue
from feedcache.connections import RedisError

logger = logging.getLogger(__name__)

REBUILD_SECONDS = 15
RECONCILE_SECONDS = 2.0


@shared_task
def recount_polls() -> None:
    """Compare the counts of running polls with their votes, and repair them."""
    reconcile.recount_running_polls(seconds=RECONCILE_SECONDS)


@shared_task
def maintain_filters() -> None:
    """Keep the existence filters complete; a long rebuild continues in the next run."""
    unfinished = False
    for marks in rebuild.MODELS:
        try:
            outcome = rebuild.maintain(marks, seconds=REBUILD_SECONDS)
        except RedisError as error:
            logger.warning("could not maintain the existence filter of %s: %s", marks.kind, error)
        else:
            unfinished |= outcome is rebuild.Outcome.UNFINISHED
    if unfinished:
        enqueue("apps.engagement.tasks.maintain_filters")
