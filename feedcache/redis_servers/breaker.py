"""A circuit breaker: a server that does not answer is skipped for a while, then tried by one caller. Per process."""

import threading
import time
from collections.abc import Callable

FIRST_PAUSE_SECONDS = 0.5
MAX_PAUSE_SECONDS = 4.0


class Breaker:
    """Closed (all may pass), open (none) or half open (one, whose success or failure decides)."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        max_pause_seconds: float | None = None,
    ) -> None:
        self._clock = clock
        self._max_pause_seconds = max_pause_seconds
        self._lock = threading.Lock()
        self._failures = 0
        self._open_until = 0.0
        self._is_half_open = False

    @property
    def is_closed(self) -> bool:
        return self._failures == 0

    def allows(self) -> bool:
        """Whether the caller may pass; once per pause when half open."""
        if self._failures == 0:
            return True
        with self._lock:
            if self._clock() < self._open_until:
                return False
            self._open_until = self._clock() + self._pause()
            self._is_half_open = True
            return True

    def succeed(self) -> None:
        with self._lock:
            self._failures, self._is_half_open = 0, False

    def fail(self) -> bool:
        """Open; whether the breaker was closed before. The pause doubles after each failed trial only."""
        with self._lock:
            was_closed = self._failures == 0
            if was_closed or self._is_half_open:
                self._failures += 1
                self._is_half_open = False
                self._open_until = self._clock() + self._pause()
            return was_closed

    def _pause(self) -> float:
        maximum = MAX_PAUSE_SECONDS if self._max_pause_seconds is None else self._max_pause_seconds
        return min(FIRST_PAUSE_SECONDS * 2.0 ** min(self._failures - 1, 8), maximum)
