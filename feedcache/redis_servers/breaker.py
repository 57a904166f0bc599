"""A circuit breaker: what does not answer is left alone for a while, then tried by one caller. Per process."""

import threading
import time
from collections.abc import Callable

FIRST_PAUSE_SECONDS = 0.5
MAX_PAUSE_SECONDS = 4.0


class Breaker:
    """Closed (all may pass), open (none), half open (one, whose luck decides)."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, longest: float | None = None
    ) -> None:
        self._clock = clock
        self._longest = longest
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0
        self._is_tried = False

    @property
    def is_closed(self) -> bool:
        """Whether everybody may pass."""
        return self._failures == 0

    def allows(self) -> bool:
        """Whether the caller may pass; when half open, the first who asks, for one pause."""
        if self._failures == 0:
            return True
        with self._lock:
            if self._clock() < self._until:
                return False
            self._until = self._clock() + self._pause()
            self._is_tried = True
            return True

    def succeed(self) -> None:
        """It answers: closed."""
        with self._lock:
            self._failures, self._is_tried = 0, False

    def fail(self) -> bool:
        """It does not answer: open; whether it was closed before. The pause doubles with every failed trial only."""
        with self._lock:
            was_closed = self._failures == 0
            if was_closed or self._is_tried:
                self._failures += 1
                self._is_tried = False
                self._until = self._clock() + self._pause()
            return was_closed

    def _pause(self) -> float:
        longest = MAX_PAUSE_SECONDS if self._longest is None else self._longest
        return min(FIRST_PAUSE_SECONDS * 2.0 ** min(self._failures - 1, 8), longest)
