"""Periodic tasks: if several of beat's messages have piled up while no worker ran, only one is executed.

A key in Redis with a lifetime decides, so only one clock counts. Celery's `expires` compares beat's clock with the
worker's: for a worker whose clock is a few seconds ahead, every message would be too old, and nothing would be swept,
audited or published in time.
"""

import logging
from typing import Any

from celery import Task

from feedcache.connections import RedisError, configuration
from feedsite.server.schedules import EVERY

logger = logging.getLogger(__name__)

KEY = "periodic:{}"


class PeriodicTask(Task):  # type: ignore[type-arg]  # generic in its stubs only
    """The base class of all tasks, because beat may send any of them."""

    abstract = True

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Skip a message from beat if the same task started less than half of its interval ago."""
        every = self.request.get(EVERY)
        if every is not None and not is_first_of_interval(self.name, every):
            return None
        return super().__call__(*args, **options)


def is_first_of_interval(task: str, seconds: float) -> bool:
    """Whether this is the first call within half of `seconds`. True if Redis fails: the task may then run twice."""
    try:
        return bool(configuration().set(KEY.format(task), 1, nx=True, px=int(seconds * 500)))
    except RedisError as error:
        logger.warning("%s runs, perhaps again within its interval: %s", task, error)
        return True
