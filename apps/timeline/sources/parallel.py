"""A few threads that help with many equal pieces of one read, such as groups of authors (sources 000, 004).

Whoever asks works as well, and takes back what no thread has begun: so nobody waits for a place in the pool, and when the
threads are held up by other readers' slow pieces, a read is as fast as one without them.

They help only when the first piece takes long: then it waits for a store. What is warm keeps the interpreter busy, which
runs one thread at a time, and two that take turns are slower than one.
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

PATIENCE_SECONDS = 0.01  # a warm group of 500 authors takes half of it

T = TypeVar("T")
R = TypeVar("R")


def in_parallel(work: Callable[[T], R], pieces: Sequence[T], *, maximum: int) -> list[R]:
    """`work` of every piece, in order, by at most `most` threads, this one among them; its first error is raised.

    Threads have database connections of their own, so they see what is committed; afterwards these are given back.
    """
    left, done = deque(range(len(pieces))), dict[int, R]()
    one_is_done = Event()

    def take_all() -> None:
        while (at := _next(left)) is not None:
            done[at] = work(pieces[at])
            one_is_done.set()

    def help_out() -> None:
        if not one_is_done.wait(PATIENCE_SECONDS):
            take_all()

    helpers = [_pool().submit(_closing, help_out) for _ in range(min(maximum, len(pieces)) - 1)]
    try:
        take_all()
    finally:
        left.clear()  # after an error the others end with what they have begun
        begun = [helper for helper in helpers if not helper.cancel()]
    for helper in begun:
        helper.result()
    return [done[at] for at in range(len(pieces))]


def _next(left: deque[int]) -> int | None:
    try:
        return left.popleft()
    except IndexError:
        return None


def _closing(help_out: Callable[[], None]) -> None:
    try:
        help_out()
    finally:
        connections.close_all()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(settings.TIMELINE_PULL_THREADS, thread_name_prefix="pull")


os.register_at_fork(after_in_child=_pool.cache_clear)  # threads stay with the parent
