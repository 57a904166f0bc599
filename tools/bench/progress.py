"""How far a run of benchmarks is, and that it ends: a bar for the parts, and a time that each part has at most."""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

_tell: list[Callable[[str], None]] = []  # whoever shows what is being done


class OvertimeError(BaseException):
    """A part took longer than it has. No `except Exception` on the way may stop it."""


def doing(what: str) -> None:
    """Say what is being done; for nobody when no bar is shown."""
    for tell in _tell:
        tell(what)


@contextmanager
def bar(console: Console, parts: Sequence[str]) -> Iterator[Callable[[str], None]]:
    """A bar for parts; call what comes when one begins."""
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
    """OvertimeError is raised in what takes longer than so many seconds; by a signal, so in the main thread only."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise OvertimeError(f"not done in {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
