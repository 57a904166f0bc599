"""Ends processes of a site whose launcher was killed together with its watchman."""

import contextlib
import os
import signal
import time

from runner import identity
from runner.datadir import DataDir
from runner.processes import MARK
from runner.terminal import complain

GRACE_SECONDS = 5.0


def end_leftovers(data: DataDir) -> None:
    """End the site's old processes. The caller holds the data directory, so all processes with its mark are old."""
    pids = identity.processes_with(f"{MARK}={data.path}")
    if not pids:
        return
    complain(f"Ending {len(pids)} processes left over from a launcher that was killed")
    _signal(pids, signal.SIGINT)  # PostgreSQL then shuts down fast and cleanly
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline and any(identity.alive(process_id) for process_id in pids):
        time.sleep(0.05)
    _signal([process_id for process_id in pids if identity.alive(process_id)], signal.SIGKILL)


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)
