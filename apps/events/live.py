"""News for those who listen at this moment: what happened, in ids, told after the commit.

Nobody has to hear it and nothing is kept: what must happen is an event (`events.actions.record`).
"""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson
from django.db import transaction

from feedcache.redis_servers.broadcast import publish, subscribe
from feedcache.redis_servers.connections import RedisError

__all__ = ["announce", "read", "subscribe"]

logger = logging.getLogger(__name__)


def announce(name: str, **ids: int) -> None:
    """Tell everybody who listens that something happened, when the caller's transaction commits, or now."""
    transaction.on_commit(partial(_tell, name, ids), robust=True)


def read(message: bytes) -> tuple[str, Mapping[str, Any]]:
    """The name and the ids of an announcement."""
    name, ids = orjson.loads(message)
    return name, ids


def _tell(name: str, ids: Mapping[str, int]) -> None:
    try:
        publish(orjson.dumps([name, ids]))
    except RedisError as error:
        logger.warning("%s is not told to those who listen: %s", name, error)
