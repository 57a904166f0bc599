"""When beat sends its tasks: by a clock that no step of the system's clock moves.

Celery compares a task's last run with the wall clock. After a step back of an hour nothing would be sent for an hour:
no sweep, no scheduled post, no audit.
"""

import time
from datetime import UTC, datetime, timedelta

from celery.schedules import schedule

_START = time.time() - time.monotonic()


def steady_now() -> datetime:
    """The time at the start of this process, and what has passed since."""
    return datetime.fromtimestamp(_START + time.monotonic(), UTC)


def every(seconds: float) -> schedule:
    return schedule(timedelta(seconds=seconds), nowfun=steady_now)
