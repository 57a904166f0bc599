"""Tasks that beat sends again and again: what was sent while nobody worked is done once, not as often as it was sent.

By the life of a key in Redis, on one clock. Celery's `expires` compares beat's clock with the worker's: with a worker
some seconds ahead every message would be too old, and nothing would be swept, audited or published on time.
"""

import logging
from typing import Any

from celery import Task

from feedcache.connections import RedisError, configuration
from feedsite.server.schedules import EVERY

logger = logging.getLogger(__name__)

KEY = "periodic:{}"


class PeriodicTask(Task):  # type: ignore[type-arg]  # generic in its stubs only
    """The base of all tasks: any may be sent by beat."""

    abstract = True

    def __call__(self, *args: Any, **options: Any) -> Any:
        """A message of beat does nothing when the same task began less than half of its interval ago."""
        every = self.request.get(EVERY)
        if every is not None and not is_first_of_interval(self.name, every):
            return None
        return super().__call__(*args, **options)


def is_first_of_interval(task: str, seconds: float) -> bool:
    """Whether this is the first call within half of these seconds."""
    try:
        return bool(configuration().set(KEY.format(task), 1, nx=True, px=int(seconds * 500)))
    except RedisError as error:
        logger.warning("%s runs, whether it just ran or not: %s", task, error)
        return True
