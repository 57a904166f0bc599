"""Celery tasks of the cache topology and of the epoch."""

import logging

from celery import shared_task

from apps.errors import DomainError
from apps.operations import actions, bursts, epoch, resizing
from feedcache.connections import RedisError

logger = logging.getLogger(__name__)


@shared_task
def advance() -> None:
    """Take the next step of a resize, if it is due."""
    resizing.advance()


@shared_task
def watch_bursts() -> None:
    """Add or remove an L1 group if a burst begins or ends, and staff allow automatic changes."""
    try:
        bursts.act()
    except (RedisError, DomainError) as error:
        logger.warning("nothing was done about a burst: %s", error)


@shared_task
def publish() -> None:
    """Publish the topology again if Redis has lost it."""
    try:
        actions.republish()
    except RedisError as error:
        logger.warning("could not publish the topology, it will be published later: %s", error)


@shared_task
def watch_database() -> None:
    """Begin an epoch if the database has gone back in time, or is on another server."""
    try:
        epoch.watch()
    except RedisError as error:
        logger.warning("could not check for a restored database, the next run will: %s", error)
