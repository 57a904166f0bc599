"""Announcements to listening processes: ids, published over Redis after the commit.

An announcement arrives at most once and is not stored. For changes that must not be missed, record an event
(`events.actions.record`) instead.
"""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson
from django.db import transaction

from feedcache.connections import RedisError
from feedcache.servers.broadcast import publish, subscribe

__all__ = ["announce", "read", "subscribe"]

logger = logging.getLogger(__name__)


def announce(name: str, **ids: int) -> None:
    """Publish an announcement when the caller's transaction commits, or immediately outside a transaction."""
    transaction.on_commit(partial(_publish, name, ids), robust=True)


def read(message: bytes) -> tuple[str, Mapping[str, Any]]:
    """The name and the ids of an announcement."""
    name, ids = orjson.loads(message)
    return name, ids


def _publish(name: str, ids: Mapping[str, int]) -> None:
    try:
        publish(orjson.dumps([name, ids]))
    except RedisError as error:
        logger.warning("could not announce %s: %s", name, error)
