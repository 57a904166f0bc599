"""Real Celery workers on the benchmark's own servers, ended with it."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from runner.processes import Child, spawn
from runner.processes import wait_until as started

ROOT = Path(__file__).resolve().parent.parent.parent
START_SECONDS, STOP_SECONDS, WAIT_SECONDS, LOOK_SECONDS = 60, 10, 120, 0.02


BULK = "fanout_bulk"  # a worker for it alone yields the processor, as in docker-compose.yml
YIELDS = ("nice", "-n", "10")


@contextmanager
def workers(directory: Path, *queues: str, processes: int = 1) -> Iterator[None]:
    """One worker for each list of queues, with so many processes."""
    with ExitStack() as stack:
        for number, names in enumerate(queues):
            child = _start(directory / f"worker-{number}.log", number, names, processes)
            stack.callback(child.stop, STOP_SECONDS)
            ready = partial(_is_ready, child.log)
            started(ready, child, seconds=START_SECONDS)
        yield


def _start(log: Path, number: int, queues: str, processes: int) -> Child:
    command = [
        *(YIELDS if queues == BULK else ()), sys.executable, "-m", "celery", "-A", "feedsite", "worker", "-Q", queues, "-n", f"bench{number}@%h",
        "--concurrency", str(processes), "--without-gossip", "--without-mingle", "-l", "INFO",
    ]  # fmt: skip
    return spawn("a worker", command, log=log, environment={**os.environ, "PYTHONPATH": str(ROOT)})


def _is_ready(log: Path) -> bool:
    return " ready." in log.read_text()


def wait_until(condition: Callable[[], bool], *, seconds: float = WAIT_SECONDS) -> None:
    """Wait for something; RuntimeError when it takes too long."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("a benchmark waited in vain")
        time.sleep(LOOK_SECONDS)
