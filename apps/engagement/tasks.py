"""Celery's entry points to engagement."""

import logging

from celery import shared_task

from apps.caches.servers import RedisError
from apps.engagement import rebuild
from apps.events.actions import ring

logger = logging.getLogger(__name__)

PIECE_SECONDS = 15


@shared_task
def tend_filters() -> None:
    """Keep the existence filters whole; a long rebuild goes on in the next message."""
    unfinished = False
    for marks in rebuild.MODELS:
        try:
            outcome = rebuild.tend(marks, seconds=PIECE_SECONDS)
        except RedisError as error:
            logger.warning("the existence filter of %s is left as it is: %s", marks.kind, error)
        else:
            unfinished |= outcome is rebuild.Outcome.UNFINISHED
    if unfinished:
        ring("apps.engagement.tasks.tend_filters")
