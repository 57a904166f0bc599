"""One line about something slow: redrawn on a terminal, printed twice in a log."""

import sys
import time
from types import TracebackType
from typing import Self


class Progress:
    """Context manager; prints what it does, how far it is, and how long it took (seconds)."""

    def __init__(self, what: str, *, total: int) -> None:
        self._what = what
        self._total = total
        self._done = 0
        self._started = 0.0
        self._terminal = sys.stderr.isatty()

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        if self._terminal:
            self._draw("")
        else:
            print(f"{self._what} ...", file=sys.stderr, flush=True)
        return self

    def advance(self) -> None:
        """One step of `total` is done; more steps than that are not shown."""
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
        print(f"\r\033[K{self._what} ... {state}", end="", file=sys.stderr, flush=True)
