"""Progress of a run of benchmarks: a bar for the parts, and a time limit for each part."""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

_tell: list[Callable[[str], None]] = []  # functions that show the current step


class OvertimeError(BaseException):
    """A part exceeded its time. Derives from BaseException so that no `except Exception` stops it."""


def doing(what: str) -> None:
    """Show the current step, if a bar is shown."""
    for tell in _tell:
        tell(what)


@contextmanager
def bar(console: Console, parts: Sequence[str]) -> Iterator[Callable[[str], None]]:
    """A progress bar for parts; call the result when a part begins."""
    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(parts))
        current = [""]

        def begin(part: str) -> None:
            current[0] = part
            progress.update(task, completed=parts.index(part), description=part)

        def tell(what: str) -> None:
            line = f"{current[0]}: {what}"
            progress.update(task, description=line)
            if not console.is_terminal:
                console.print(line)

        _tell.append(tell)
        try:
            yield begin
        finally:
            _tell.remove(tell)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise OvertimeError in a block that takes longer than `seconds`. Uses a signal, so it needs the main thread."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise OvertimeError(f"not done in {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
