"""The processor time of processes, as counted by the kernel (Linux).

It shows the cost of a page whatever else runs on the machine; requests per second do that only on an idle machine.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")


def seconds_of(pids: Iterable[int]) -> float:
    """Processor seconds of some processes and all their descendants, including those that have ended."""
    return sum(_ticks(pid) for root in pids for pid in tree(root)) / TICKS


def seconds_below(root: int) -> float:
    """Processor seconds of all descendants of a process, without its own."""
    return seconds_of([root]) - _ticks(root, ended=False) / TICKS


def megabytes_of(pids: Iterable[int]) -> float:
    """Memory of some processes and all their descendants; shared memory is divided among them."""
    return sum(kilobytes(pid) for root in pids for pid in tree(root)) / 1024


def program_megabytes(root: int) -> dict[str, float]:
    """Memory of a process and all its descendants, summed up by the programs in their command lines."""
    found: dict[str, float] = {}
    for pid in tree(root):
        name = _program(pid)
        found[name] = found.get(name, 0.0) + kilobytes(pid) / 1024
    return found


def waiting_of(pids: Iterable[int]) -> float:
    """Seconds in which threads of some processes, and of all their descendants, were ready to run but had no core."""
    return sum(_nanoseconds_waited(pid) for root in pids for pid in tree(root)) / 1e9


def is_measured() -> bool:
    """Whether this machine has these counts."""
    return (PROC / "self" / "stat").exists()


def tree(root: int) -> Iterator[int]:
    """A process and all its descendants."""
    yield root
    for task in (PROC / str(root) / "task").glob("*/children"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            for child in task.read_text().split():
                yield from tree(int(child))


def kilobytes(pid: int, kind: str = "Pss") -> int:
    """Memory of one process, as a line of smaps_rollup; 0 if it has ended. Pss: shared memory is divided."""
    with contextlib.suppress(OSError):
        for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith(f"{kind}:"):
                return int(line.split()[1])
    return 0


def _program(pid: int) -> str:
    """The program of a process: for Python the part of the site that it runs, for others the program's name."""
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


def _ticks(pid: int, *, ended: bool = True) -> int:
    """Clock ticks of one process, and of its children that have ended."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11 : 15 if ended else 13]))
