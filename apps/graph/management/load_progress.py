"""What a load shows while it runs, on standard error: a bar on a terminal, a line every 10 % in a log."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

FAULTS_IN_FULL = 20
STEPS = 10


class LoadProgress:
    """Lines done, at what rate, how long still; and the faults of lines, the first ones in full."""

    def __init__(self, *, total: int, done: int) -> None:
        self.faults = 0
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._total, self._first, self._done = total, done, done
        self._began = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), _Rate(), TimeRemainingColumn(),
            console=self._console, transient=True, disable=not self._console.is_terminal,
        )  # fmt: skip
        self._task = self._bar.add_task("Loading", total=total, completed=done)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Draw the bar for as long as the block runs."""
        with self._bar:
            yield

    def reached(self, line: int) -> None:
        """All lines up to this one are done."""
        before, self._done = self._tenth(), line
        self._bar.update(self._task, completed=line)
        if not self._console.is_terminal and self._tenth() > before:
            self._console.print(self._state(), markup=False)

    def fault(self, line: int, reason: str) -> None:
        """A line was skipped."""
        self.faults += 1
        if self.faults <= FAULTS_IN_FULL:
            self._console.print(f"line {line:,}: {reason}", markup=False)
        elif self.faults == FAULTS_IN_FULL + 1:
            self._console.print("More bad lines are counted, not shown.")

    def _tenth(self) -> int:
        return self._done * STEPS // self._total if self._total else STEPS

    def _state(self) -> str:
        elapsed = max(time.monotonic() - self._began, 0.001)
        rate = (self._done - self._first) / elapsed
        left = (self._total - self._done) / rate if rate else 0
        percent = self._done * 100 // self._total
        return f"{percent:3} %  line {self._done:,} of {self._total:,}  {rate:,.0f} lines/s  {left:.0f} s left"


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f} lines/s" if task.speed else "")
