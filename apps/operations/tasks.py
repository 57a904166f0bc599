"""Celery tasks of the cache topology."""

import logging

from celery import shared_task

from apps.operations import actions
from feedcache.connections import RedisError

logger = logging.getLogger(__name__)


@shared_task
def publish() -> None:
    """Publish the topology again if Redis lost it."""
    try:
        actions.republish()
    except RedisError as error:
        logger.warning("the topology is published later: %s", error)
