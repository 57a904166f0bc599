"""Output of the launcher on the terminal: messages, expected failures, progress."""

import contextlib
import sys
import time
from types import TracebackType
from typing import Self


class LaunchError(Exception):
    """An expected failure; its text is one line for the terminal, without a traceback."""


def say(text: str) -> None:
    """Print to standard output; a closed terminal is ignored."""
    with contextlib.suppress(OSError, ValueError):
        print(text, flush=True)


def complain(text: str) -> None:
    """Print to standard error; a closed terminal is ignored."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


class Progress:
    """The progress of a slow step: a line that is redrawn on a terminal, two lines in a log."""

    def __init__(self, label: str, *, total: int) -> None:
        self._label = label
        self._total = total
        self._done = 0
        self._started = 0.0
        self._terminal = sys.stderr.isatty()

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        if self._terminal:
            self._draw("")
        else:
            print(f"{self._label} ...", file=sys.stderr, flush=True)
        return self

    def advance(self) -> None:
        self._done = min(self._done + 1, self._total)
        if self._terminal:
            self._draw(f"{self._done}/{self._total}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        seconds = time.monotonic() - self._started
        outcome = "done" if kind is None else "failed"
        if self._terminal:
            self._draw(f"{outcome} after {seconds:.0f} s")
            print(file=sys.stderr)
        else:
            print(f"{outcome} after {seconds:.0f} s", file=sys.stderr, flush=True)

    def _draw(self, state: str) -> None:
        print(f"\r\033[K{self._label} ... {state}", end="", file=sys.stderr, flush=True)
