"""Skips servers and sources that fail (`Breaker`), and limits how many threads a hanging source can block (`Bulkhead`).

Each process has its own breakers and bulkheads.
"""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextvars import copy_context
from functools import cached_property
from typing import TypeVar

FIRST_PAUSE_SECONDS = 0.5
MAX_PAUSE_SECONDS = 4.0


class Breaker:
    """A circuit breaker: closed (every call passes), open (no call passes) or half open (one test call passes)."""

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
        self.is_closed = True

    def allows(self) -> bool:
        """Whether a call may pass. While the breaker is half open, the answer is True once per pause."""
        if self.is_closed:
            return True
        with self._lock:
            if self._clock() < self._open_until:
                return False
            self._open_until = self._clock() + self._pause()
            self._is_half_open = True
            return True

    def succeed(self) -> None:
        with self._lock:
            self._failures, self._is_half_open, self.is_closed = 0, False, True

    def fail(self) -> bool:
        """Open the breaker; returns whether it was closed before. The pause doubles only after a failed test call."""
        with self._lock:
            was_closed, self.is_closed = self.is_closed, False
            if was_closed or self._is_half_open:
                self._failures += 1
                self._is_half_open = False
                self._open_until = self._clock() + self._pause()
            return was_closed

    def _pause(self) -> float:
        maximum = MAX_PAUSE_SECONDS if self._max_pause_seconds is None else self._max_pause_seconds
        return min(FIRST_PAUSE_SECONDS * 2.0 ** min(self._failures - 1, 8), maximum)


logger = logging.getLogger(__name__)

T = TypeVar("T")


class SourceUnavailable(Exception):
    """The source has failed recently, or is overloaded or too slow."""


class Bulkhead:
    """Runs calls to a source in a few threads, so that hanging calls do not block other work (source 003).

    While all these threads are busy, or for a pause after the source has failed, further calls fail immediately, and
    callers continue without the source. A hanging thread stays busy until its call returns.
    """

    def __init__(
        self,
        name: str,
        *,
        max_concurrency: int,
        after: Callable[[], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`after` runs in the pool's thread after each call, to release the thread's resources."""
        self.name = name
        self._slots = threading.BoundedSemaphore(max_concurrency)
        self._max_concurrency = max_concurrency
        self._after = after
        self._breaker = Breaker(clock)

    def call(self, work: Callable[[], T], *, seconds: float) -> T:
        """The result of `work`. Raises SourceUnavailable if it takes longer than `seconds`, or could not be started.

        An error of `work` counts as a failure of the source and is raised here; a TimeoutError as SourceUnavailable.
        """
        if seconds <= 0 or not self._breaker.allows():
            raise SourceUnavailable(self.name)
        if not self._slots.acquire(blocking=False):
            raise SourceUnavailable(self.name)
        future = self._start(work)
        try:
            result = future.result(timeout=seconds)
        except FutureTimeoutError:
            self._fail(f"no answer within {seconds:.3f} s")
            raise SourceUnavailable(self.name) from None
        except Exception as error:
            self._fail(str(error))
            raise
        self._breaker.succeed()
        return result

    def _start(self, work: Callable[[], T]) -> "Future[T]":
        context = copy_context()

        def run() -> T:
            try:
                return context.run(work)
            finally:
                try:
                    if self._after is not None:
                        self._after()
                finally:
                    self._slots.release()

        return self._pool.submit(run)

    def _fail(self, why: str) -> None:
        if self._breaker.fail():
            logger.warning("%s is skipped for a while: %s", self.name, why)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        # created by the first call: threads do not survive a fork
        return ThreadPoolExecutor(self._max_concurrency, thread_name_prefix=self.name)
