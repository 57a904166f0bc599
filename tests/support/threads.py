"""Does one thing in many threads at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

WAIT_SECONDS = 60
# Called at the end of each thread. The site's tests close its database connection: a pool has fewer connections than
# some tests have threads.
AT_END: list[Callable[[], None]] = []


def together(number: int, work: Callable[[int], Any]) -> list[Any]:
    """The results of `work(0) .. work(number - 1)`, all started at the same moment; their errors are raised here."""
    gate = Barrier(number)

    def one(index: int) -> Any:
        gate.wait(WAIT_SECONDS)
        try:
            return work(index)
        finally:
            for act in AT_END:
                act()

    with ThreadPoolExecutor(number) as pool:
        return [
            done.result(WAIT_SECONDS * 3) for done in [pool.submit(one, n) for n in range(number)]
        ]
