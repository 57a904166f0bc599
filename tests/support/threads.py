"""Does one thing in many threads at once, each with a database connection of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connections

WAIT_SECONDS = 60


def together(number: int, work: Callable[[int], Any]) -> list[Any]:
    """The results of `work(0) .. work(number - 1)`, all started at the same moment; its errors are raised here."""
    gate = Barrier(number)

    def one(index: int) -> Any:
        gate.wait(WAIT_SECONDS)
        try:
            return work(index)
        finally:
            connections.close_all()  # back to the pool, which is smaller than some crowds

    with ThreadPoolExecutor(number) as pool:
        return [
            done.result(WAIT_SECONDS * 3) for done in [pool.submit(one, n) for n in range(number)]
        ]
