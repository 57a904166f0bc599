"""Waiting for what another thread, process or server does."""

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
    """What the condition says once it holds. `what` says in a failure what was waited for: "the worker is ready".

    The time-out is for what never comes; a test that passes does not reach it, however busy the machine is.
    """
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            missed = what if isinstance(what, str) else what()
            raise AssertionError(f"not within {seconds:.0f} s: {missed}")
        time.sleep(STEP_SECONDS)
    return found
