"""When beat sends its tasks: by a clock that no step of the system's clock moves.

Celery compares a task's last run with the wall clock. After a step back of an hour nothing would be sent for an hour:
no sweep, no scheduled post, no audit.
"""

import time
from datetime import UTC, datetime, timedelta

from celery.schedules import schedule

EVERY = "feedsite_every"  # a header of what beat sends: the seconds between two (`feedsite.server.periodic`)
_START = time.time() - time.monotonic()


def steady_now() -> datetime:
    """The time at the start of this process, and what has passed since."""
    return datetime.fromtimestamp(_START + time.monotonic(), UTC)


class SteadySchedule(schedule):
    """Runs by `steady_now`. What ran in the future is due: an earlier beat, whose clock was ahead, said so."""

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        last_run_at = self.maybe_make_aware(last_run_at)
        if last_run_at > self.now():
            return timedelta()
        remaining: timedelta = super().remaining_estimate(last_run_at)
        return remaining


def every(seconds: float) -> schedule:
    return SteadySchedule(timedelta(seconds=seconds), nowfun=steady_now)
