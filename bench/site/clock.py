"""The processor time that processes took, by what the kernel counts (Linux).

It says what a page costs whoever else is at work on the machine; requests a second say that of an idle one only.
"""

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


def _tree(root: int) -> Iterator[int]:
    yield root
    for task in (PROC / str(root) / "task").glob("*/children"):
        for child in task.read_text().split():
            yield from _tree(int(child))


def _ticks(pid: int, *, ended: bool = True) -> int:
    """Of one process, and of its children that have ended."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11 : 15 if ended else 13]))
