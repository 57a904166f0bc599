"""A small process that ends the launcher's children when the launcher is killed.

Workers of the web server outlive a killed parent and would occupy the port. The launcher sends the watchman the process
groups through a pipe ("+ id signal", "- id"); when the pipe closes while groups remain, the leaders get their signal,
then the groups are killed.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import IO

GRACE_SECONDS = 3.0


class _Link:
    """The launcher's end of the pipe; the watchman starts with the first child."""

    process: "subprocess.Popen[bytes] | None" = None
    owner = 0
    groups: dict[int, int] = {}


def watch(group: int, stop_signal: int) -> None:
    """End this process group when the launcher dies."""
    _Link.groups[group] = int(stop_signal)
    if _Link.process is None or _Link.owner != os.getpid() or _Link.process.poll() is not None:
        _start()
        for other, number in _Link.groups.items():
            _send(f"+ {other} {number}")
    else:
        _send(f"+ {group} {int(stop_signal)}")


def forget(group: int) -> None:
    """Drop a group that has ended; the watchman ends with the last one."""
    if _Link.groups.pop(group, None) is None or _Link.process is None:
        return
    _send(f"- {group}")
    if not _Link.groups and _Link.process.stdin is not None:
        with contextlib.suppress(OSError):
            _Link.process.stdin.close()
        _Link.process.wait()
        _Link.process = None


def _start() -> None:
    _Link.owner = os.getpid()
    _Link.process = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
        start_new_session=True, bufsize=0,
    )  # fmt: skip


def _send(line: str) -> None:
    if _Link.process is not None and _Link.process.stdin is not None:
        with contextlib.suppress(OSError, ValueError):
            _Link.process.stdin.write(line.encode() + b"\n")


def stand_by(messages: IO[str]) -> dict[int, int]:
    """Read the launcher's messages until the pipe closes. Returns the remaining groups with their signals."""
    groups: dict[int, int] = {}
    for line in messages:
        sign, group, *number = line.split()
        if sign == "+":
            groups[int(group)] = int(number[0])
        else:
            groups.pop(int(group), None)
    return groups


def end(groups: dict[int, int], *, grace: float = GRACE_SECONDS) -> None:
    """Signal the leaders, and kill the rest of the groups after `grace` seconds."""
    for group, number in groups.items():
        with contextlib.suppress(OSError):
            os.kill(group, number)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline and any(_exists(group) for group in groups):
        time.sleep(0.1)
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


if __name__ == "__main__":
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    end(stand_by(sys.stdin))
