"""`./run stop` and `./run reset`."""

import os
import signal
import sys
import time

from runner.datadir import DataDir, Holder, in_use
from runner.terminal import LaunchError, say

STOP_SECONDS = 60  # longer than all processes together may take to stop


def stop(data: DataDir) -> int:
    """Stop the site of a data directory and wait for its end. Raises LaunchError."""
    holder = data.holder()
    if holder is None:
        say(f"feedsite is not running with {data.path}")
        return 0
    if holder.what != "site" or not holder.pid:
        raise LaunchError(in_use(holder, data.path))
    _terminate(holder)
    deadline = time.monotonic() + STOP_SECONDS
    while data.holder() is not None:
        if time.monotonic() > deadline:
            raise LaunchError(f"feedsite (pid {holder.pid}) has not stopped after {STOP_SECONDS} s")
        time.sleep(0.05)
    say("feedsite has stopped")
    return 0


def reset(data: DataDir, *, confirmed: bool) -> int:
    """Delete the data after a confirmation. Returns 0 if it was deleted. Raises LaunchError."""
    if not data.path.exists():
        say(f"{data.path} does not exist")
        return 0
    if not data.is_ours():
        raise LaunchError(f"{data.path} was not made by feedsite; nothing is deleted.")
    holder = data.holder()
    if holder is not None:
        raise LaunchError(f"{in_use(holder, data.path)}; first: ./run stop")
    if not confirmed and not _confirmed(data):
        say("Nothing is deleted.")
        return 1
    with data.held("reset"):  # so that neither a site nor another reset starts meanwhile
        data.remove()
    say(f"Deleted. The next ./run starts empty in {data.path}")
    return 0


def _terminate(holder: Holder) -> None:
    try:
        os.kill(holder.pid, signal.SIGTERM)
    except PermissionError:
        raise LaunchError(f"feedsite (pid {holder.pid}) belongs to another user") from None
    except ProcessLookupError:
        return


def _confirmed(data: DataDir) -> bool:
    if not sys.stdin.isatty():
        raise LaunchError(f"This deletes everything in {data.path}; confirm with --yes")
    answer = input(f"Delete all accounts, posts and pictures in {data.path}? [y/N] ")
    return answer.strip().lower() in ("y", "yes")
