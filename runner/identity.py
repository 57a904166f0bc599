"""Which process a number means: process ids are reused, and a zombie is dead."""

import os
import subprocess
from pathlib import Path

PROC = Path("/proc")


def start_time(pid: int) -> str:
    """When the process started, in a unit of the system's own; "" when it is dead or a zombie."""
    if (PROC / "self" / "stat").exists():
        return _start_time_from_proc(pid)
    return _start_time_from_ps(pid)


def alive(pid: int, started: str = "") -> bool:
    """Whether the process lives and, when `started` is given, still is the one that started then."""
    now = start_time(pid)
    return bool(now) and started in ("", now)


def processes_with(setting: str) -> list[int]:
    """Own processes whose environment holds the setting "NAME=value"; only Linux can tell."""
    found = []
    for entry in PROC.glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(setting) in environment and start_time(int(entry.name)):
            found.append(int(entry.name))
    return [pid for pid in found if pid != os.getpid()]


def _start_time_from_proc(pid: int) -> str:
    try:
        # The command's name, in brackets, may hold blanks and brackets itself.
        fields = (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    state, started = fields[0], fields[19]
    return "" if state in "ZX" else started


def _start_time_from_ps(pid: int) -> str:
    command = ["ps", "-o", "state=,lstart=", "-p", str(pid)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    state, _, started = answer.partition(" ")
    return "" if state.startswith("Z") else started.strip()
