"""What a walk over counts shows while it runs, on standard error: a bar on a terminal, nothing in a log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


@contextmanager
def walk(name: str, first: int, last: int) -> Iterator[Callable[[int], None]]:
    """A bar from one id to another; what it gives is told the id up to which all is done."""
    console = Console(stderr=True, highlight=False)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        # ids are far larger than a bar's numbers need to be
        task = progress.add_task(name, total=1000)
        length = max(last - first, 1)
        yield lambda id_: progress.update(task, completed=(id_ - first) * 1000 // length)
