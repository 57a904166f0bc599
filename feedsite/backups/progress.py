"""The progress of a long step: a bar on standard error, if that is a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

Advance = Callable[[int], object]  # called with a number of bytes


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Advance]:
    """Yields a function to be called with the size of each part in bytes; `total` may be an estimate."""
    console = Console(stderr=True, highlight=False)
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(title, total=max(total, 1))
        yield lambda number: bar.advance(task, number)


def size_text(number: int) -> str:
    """A size in a readable unit, such as 12.3 MB."""
    size = float(number)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
