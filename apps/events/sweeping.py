"""Sweeps: what no doorbell reached is found by looking, and a backlog is everybody's."""

import time
from collections.abc import Callable
from datetime import timedelta

from apps.events.actions import enqueue

# What is due for so long was not rung for, or waits in a long queue; the rest is somebody's already.
UNHEARD = timedelta(seconds=1)


def sweep(
    task: str, run_due: Callable[[], int], *, limit: int, seconds: float, helpers: int
) -> None:
    """Call `run_due`, which does up to `limit` rows, until there are none or `seconds` are over.

    Behind the first full batch there may be more than one worker does in that time, as after an outage of Redis: then
    `helpers` others are rung for, who do the same but ring for nobody. What they were to do may be done when they
    come, so their messages expire. The next sweep goes on: one that ran into the time limit of its task would leave
    rows under a lease that nobody works on.
    """
    until = time.monotonic() + seconds
    while done := run_due():
        if done >= limit:
            for _helper in range(helpers):
                enqueue(task, 0, expires=seconds)
            helpers = 0
        if time.monotonic() > until:
            return
