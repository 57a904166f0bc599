"""Celery tasks of the cache topology and of the epoch."""

import logging

from celery import shared_task

from apps.operations import actions, epoch, resizing
from feedcache.connections import RedisError

logger = logging.getLogger(__name__)


@shared_task
def advance() -> None:
    """Take the next step of a pool that changes its slots."""
    resizing.advance()


@shared_task
def publish() -> None:
    """Publish the topology again if Redis lost it."""
    try:
        actions.republish()
    except RedisError as error:
        logger.warning("the topology is published later: %s", error)


@shared_task
def watch_database() -> None:
    """Notice that the database went back, or is on another server."""
    try:
        epoch.watch()
    except RedisError as error:
        logger.warning("the database is watched again later: %s", error)
