"""Celery's entry points to the upkeep of counts and existence filters."""

import logging

from celery import shared_task
from django.conf import settings

from apps.engagement import rebuild, reconcile
from apps.events.actions import enqueue
from feedcache.redis_servers.connections import RedisError

logger = logging.getLogger(__name__)

PIECE_SECONDS = 15  # of a rebuild
TURN_SECONDS = 2.0  # of a reconciliation


@shared_task
def reconcile_counts() -> None:
    """Compare some more counts with the rows they count, and repair them."""
    reconcile.reconcile_next(days=settings.COUNTERS_RECONCILE_DAYS, seconds=TURN_SECONDS)


@shared_task
def recount_polls() -> None:
    """Compare what the polls that run count with the votes, and repair it."""
    reconcile.recount_running(seconds=TURN_SECONDS)


@shared_task
def maintain_filters() -> None:
    """Keep the existence filters whole; a long rebuild goes on in the next message."""
    unfinished = False
    for marks in rebuild.MODELS:
        try:
            outcome = rebuild.maintain(marks, seconds=PIECE_SECONDS)
        except RedisError as error:
            logger.warning("the existence filter of %s is left as it is: %s", marks.kind, error)
        else:
            unfinished |= outcome is rebuild.Outcome.UNFINISHED
    if unfinished:
        enqueue("apps.engagement.tasks.maintain_filters")
