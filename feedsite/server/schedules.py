"""Beat's schedule, by a clock that is not affected when the system clock is set.

Celery compares a task's last run with the wall clock. If that clock were set back by an hour, nothing would be sent for
an hour: no sweep, no scheduled post, no audit.
"""

import time
from datetime import UTC, datetime, timedelta

from celery.schedules import schedule

EVERY = "feedsite_every"  # a header of beat's messages: the interval in seconds (`feedsite.server.periodic`)
_START = time.time() - time.monotonic()


def steady_now() -> datetime:
    """The time at the start of this process, plus the monotonic time since then."""
    return datetime.fromtimestamp(_START + time.monotonic(), UTC)


class SteadySchedule(schedule):
    """Runs by `steady_now`. A last run in the future makes a task due: a clock that was ahead recorded it."""

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        last_run_at = self.maybe_make_aware(last_run_at)
        if last_run_at > self.now():
            return timedelta()
        remaining: timedelta = super().remaining_estimate(last_run_at)
        return remaining


def every(seconds: float) -> schedule:
    return SteadySchedule(timedelta(seconds=seconds), nowfun=steady_now)
