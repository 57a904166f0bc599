"""A bulkhead: a source that hangs takes a few threads of its own with it, and nobody else (source 003, "read-3").

Work runs in a small pool with a time limit. When all its seats are taken, or the source kept failing, callers are
refused at once; they go on without it. A thread that hangs keeps its seat until it returns.
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from contextvars import copy_context
from functools import cached_property
from typing import TypeVar

from feedcache.redis_servers.breaker import Breaker

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Refused(Exception):
    """The source is not to be had now."""


class Bulkhead:
    """The seats in front of one source, per process."""

    def __init__(self, name: str, *, seats: int, after: Callable[[], None] | None = None) -> None:
        """`after` runs in the pool's thread when a piece of work ends, to give back what belongs to the thread."""
        self.name = name
        self._seats = threading.BoundedSemaphore(seats)
        self._number = seats
        self._after = after
        self._breaker = Breaker()

    def call(self, work: Callable[[], T], *, seconds: float) -> T:
        """What `work` returns, if that is within `seconds`; Refused when it is not, or when there is no seat.

        An error of the work itself is the caller's, and counts as a failure of the source.
        """
        if seconds <= 0 or not self._breaker.allows():
            raise Refused(self.name)
        if not self._seats.acquire(blocking=False):
            raise Refused(self.name)
        future = self._start(work)
        try:
            found = future.result(timeout=seconds)
        except TooLate:
            self._fail(f"no answer within {seconds:.3f} s")
            raise Refused(self.name) from None
        except Exception as error:
            self._fail(str(error))
            raise
        self._breaker.succeed()
        return found

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
                    self._seats.release()

        return self._pool.submit(run)

    def _fail(self, why: str) -> None:
        if self._breaker.fail():
            logger.warning("%s is left out for a while: %s", self.name, why)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        # made at the first call: threads do not survive a fork
        return ThreadPoolExecutor(self._number, thread_name_prefix=self.name)
