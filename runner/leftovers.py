"""Processes of a site whose launcher was killed together with its watchman."""

import contextlib
import os
import signal
import time

from runner import identity
from runner.datadir import DataDir
from runner.processes import MARK
from runner.says import complain

GRACE_SECONDS = 5.0


def end_leftovers(data: DataDir) -> None:
    """End them. Call only while holding the data directory: whatever carries its mark then is left over."""
    left = identity.processes_with(f"{MARK}={data.path}")
    if not left:
        return
    complain(f"Ending {len(left)} processes left by a launcher that was killed")
    _signal(left, signal.SIGINT)  # for PostgreSQL the quick and clean way
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline and any(identity.alive(pid) for pid in left):
        time.sleep(0.05)
    _signal([pid for pid in left if identity.alive(pid)], signal.SIGKILL)


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)
