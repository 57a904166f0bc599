"""Identifies processes by id and start time: ids are reused, and zombies count as dead."""

import os
import subprocess
from pathlib import Path

PROC = Path("/proc")


def start_time(pid: int) -> str:
    """The start time of a process, in the system's own format; "" if it is dead or a zombie."""
    if (PROC / "self" / "stat").exists():
        return _start_time_from_proc(pid)
    return _start_time_from_ps(pid)


def alive(pid: int, started: str = "") -> bool:
    """Whether a process is alive and, if `started` is given, still the one that started at that time."""
    current = start_time(pid)
    return bool(current) and started in ("", current)


def processes_with(setting: str) -> list[int]:
    """This user's other processes whose environment contains the setting "NAME=value"; Linux only."""
    pids = []
    for entry in PROC.glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(setting) in environment and start_time(int(entry.name)):
            pids.append(int(entry.name))
    return [pid for pid in pids if pid != os.getpid()]


def _start_time_from_proc(pid: int) -> str:
    try:
        # The command's name, in parentheses, may itself contain spaces and parentheses.
        fields = (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    state, started = fields[0], fields[19]
    return "" if state in "ZX" else started


def _start_time_from_ps(pid: int) -> str:
    command = ["ps", "-o", "state=,lstart=", "-p", str(pid)]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    state, _, started = output.partition(" ")
    return "" if state.startswith("Z") else started.strip()
