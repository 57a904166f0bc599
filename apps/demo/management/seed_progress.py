"""Progress of seeding on standard error: a bar on a terminal, a line every 10 % in a log."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

STEPS = 10


class SeedProgress:
    """Progress in rows; the total is an estimate, so the bar waits at 99 % or jumps to the end."""

    def __init__(self, *, total: int) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._total, self._done, self._tenth = total, 0, 0
        self._bar = Progress(
            TextColumn("Making {task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
            console=self._console, transient=True, disable=not self._console.is_terminal,
        )  # fmt: skip
        self._task = self._bar.add_task("people", total=total)

    @contextmanager
    def display(self) -> Iterator[None]:
        with self._bar:
            yield

    def advance(self, what: str, number: int) -> None:
        self._done = min(self._done + number, self._total - self._total // 100)
        self._bar.update(self._task, completed=self._done, description=what)
        tenth = self._done * STEPS // self._total
        if not self._console.is_terminal and tenth > self._tenth:
            self._tenth = tenth
            self._console.print(f"{tenth * STEPS:3} %  making {what}", markup=False)
