"""A small thread pool for one read that consists of many equal parts, such as groups of authors (sources 000, 004).

The calling thread works as well, and takes back the parts that no thread has begun. So a read never waits for a place
in the pool, and while the threads are busy with slow reads of others it takes no longer than without them.

The threads help only when the first part is slow, which means that it waits for a store. Warm parts keep the
interpreter busy, and there two threads are slower than one.
"""

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Event
from typing import TypeVar

from django.conf import settings
from django.db import connections

HELP_AFTER_SECONDS = 0.01  # a warm group of 500 authors takes half of it

T = TypeVar("T")
R = TypeVar("R")


def in_parallel(work: Callable[[T], R], parts: Sequence[T], *, maximum: int) -> list[R]:
    """`work` of every part, in order, by at most `maximum` threads including this one; raises the first error.

    The threads have database connections of their own, closed afterwards, so they see only committed rows.
    """
    pending, results = deque(range(len(parts))), dict[int, R]()
    first_done = Event()

    def run() -> None:
        while (index := _pop(pending)) is not None:
            results[index] = work(parts[index])
            first_done.set()

    def help_if_slow() -> None:
        if not first_done.wait(HELP_AFTER_SECONDS):
            run()

    helpers = [
        _pool().submit(_closing_connections, help_if_slow)
        for _ in range(min(maximum, len(parts)) - 1)
    ]
    try:
        run()
    finally:
        pending.clear()  # after an error the other threads finish only what they have begun
        begun = [helper for helper in helpers if not helper.cancel()]
    for helper in begun:
        helper.result()
    return [results[index] for index in range(len(parts))]


def _pop(pending: deque[int]) -> int | None:
    try:
        return pending.popleft()
    except IndexError:
        return None


def _closing_connections(work: Callable[[], None]) -> None:
    try:
        work()
    finally:
        connections.close_all()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(settings.TIMELINE_PULL_THREADS, thread_name_prefix="pull")


os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
