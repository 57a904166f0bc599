"""A bulkhead: a source that hangs blocks a few threads of its own, and no others (source 003, "read-3").

Calls run in a small pool with a time limit. When all its threads are busy, or the source kept failing, further calls
fail at once and their callers go on without the source. A hanging thread stays busy until its call returns.
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextvars import copy_context
from functools import cached_property
from typing import TypeVar

from feedcache.redis_servers.breaker import Breaker

logger = logging.getLogger(__name__)

T = TypeVar("T")


class SourceUnavailable(Exception):
    """The source failed recently, is overloaded or too slow."""


class Bulkhead:
    """One source, per process."""

    def __init__(
        self, name: str, *, max_concurrency: int, after: Callable[[], None] | None = None
    ) -> None:
        """`after` runs in the pool's thread after each call, to release the thread's resources."""
        self.name = name
        self._slots = threading.BoundedSemaphore(max_concurrency)
        self._max_concurrency = max_concurrency
        self._after = after
        self._breaker = Breaker()

    def call(self, work: Callable[[], T], *, seconds: float) -> T:
        """The result of `work`; SourceUnavailable when it takes longer than `seconds`, or when no thread is free.

        An error of the work itself is raised, and counts as a failure of the source.
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
