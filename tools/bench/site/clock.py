"""The processor time that processes took, by what the kernel counts (Linux).

It says what a page costs whatever else runs on the machine; requests a second say that of an idle one only.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")


def seconds_of(pids: Iterable[int]) -> float:
    """Processor seconds of some processes and all below them, those that have ended included."""
    return sum(_ticks(pid) for root in pids for pid in _tree(root)) / TICKS


def seconds_below(root: int) -> float:
    """Processor seconds of all processes below one, without its own."""
    return seconds_of([root]) - _ticks(root, ended=False) / TICKS


def megabytes_of(pids: Iterable[int]) -> float:
    """Memory of some processes and all below them; what they share is divided among them."""
    return sum(_kilobytes(pid) for root in pids for pid in _tree(root)) / 1024


def program_megabytes(root: int) -> dict[str, float]:
    """Memory of a process and of all below it, summed up by what their command lines say that they are."""
    found: dict[str, float] = {}
    for pid in _tree(root):
        name = _program(pid)
        found[name] = found.get(name, 0.0) + _kilobytes(pid) / 1024
    return found


def waiting_of(pids: Iterable[int]) -> float:
    """Seconds that the threads of some processes, and of all below them, could have run and had no core."""
    return sum(_nanoseconds_waited(pid) for root in pids for pid in _tree(root)) / 1e9


def is_measured() -> bool:
    """Whether this machine counts so."""
    return (PROC / "self" / "stat").exists()


def _kilobytes(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def _program(pid: int) -> str:
    """What a process is: of Python's the part of the site that it runs, of others the name of the program."""
    try:
        words = (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "ended"
    title = words[0].partition(":")[0].rpartition("/")[2]
    if not title.startswith(("python", "sh")):
        return title.partition(" ")[0]
    names = {"worker", "beat", "web", "streaming", "runner"}
    return next((word for word in words if word in names), title)


def _nanoseconds_waited(pid: int) -> int:
    total = 0
    for task in (PROC / str(pid) / "task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            total += int(task.read_text().split()[1])
    return total


def _tree(root: int) -> Iterator[int]:
    yield root
    for task in (PROC / str(root) / "task").glob("*/children"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            for child in task.read_text().split():
                yield from _tree(int(child))


def _ticks(pid: int, *, ended: bool = True) -> int:
    """Of one process, and of its children that have ended."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11 : 15 if ended else 13]))
