"""Celery tasks of the cache topology and of the epoch."""

import logging

from celery import shared_task

from apps.errors import DomainError
from apps.operations import actions, bursts, epoch, resizing
from feedcache.connections import RedisError

logger = logging.getLogger(__name__)


@shared_task
def advance() -> None:
    """Take the next step of a pool that changes its slots."""
    resizing.advance()


@shared_task
def watch_bursts() -> None:
    """Add or remove an L1 group, within the bounds that staff have set."""
    try:
        bursts.act()
    except (RedisError, DomainError) as error:
        logger.warning("nothing was done about a burst: %s", error)


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
