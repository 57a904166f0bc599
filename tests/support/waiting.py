"""Waits for another thread, process or server."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

TIMEOUT_SECONDS = 60.0
STEP_SECONDS = 0.02


def wait_until(
    condition: Callable[[], T],
    what: str | Callable[[], str],
    *,
    seconds: float = TIMEOUT_SECONDS,
) -> T:
    """Wait until the condition is true, and return its value. `what` names it in a failure: "the worker is ready".

    The time-out is for a condition that never becomes true; a passing test does not reach it, however busy the machine.
    """
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            missed = what if isinstance(what, str) else what()
            raise AssertionError(f"not within {seconds:.0f} s: {missed}")
        time.sleep(STEP_SECONDS)
    return found
