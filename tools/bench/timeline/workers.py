"""Real Celery workers on the benchmark's own servers, stopped with it."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from apps.timeline.fanout.dispatch import BULK
from runner.checkout import ROOT
from runner.processes import spawn
from runner.processes import wait_until as started

START_SECONDS, STOP_SECONDS, WAIT_SECONDS, LOOK_SECONDS = 60, 10, 120, 0.02
YIELDS = ("nice", "-n", "10")  # only for a worker for large deliveries, as in docker-compose.yml


@contextmanager
def workers(directory: Path, queues: str, *, processes: int = 1) -> Iterator[None]:
    name = queues.replace(",", "-")
    command = [
        *(YIELDS if queues == BULK else ()), sys.executable, "-m", "celery", "-A", "feedsite", "worker", "-Q", queues,
        "-n", f"{name}@%h", "--concurrency", str(processes), "--without-gossip", "--without-mingle", "-l", "INFO",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    child = spawn("a worker", command, log=directory / f"{name}.log", environment=environment)
    try:
        started(partial(is_ready, child.log), child, seconds=START_SECONDS)
        yield
    finally:
        child.stop(STOP_SECONDS)


def is_ready(log: Path) -> bool:
    """Whether a worker takes tasks, according to its log."""
    return " ready." in log.read_text()


def wait_until(condition: Callable[[], bool], *, seconds: float = WAIT_SECONDS) -> None:
    """Wait for a condition; RuntimeError if it takes too long."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("a condition of the benchmark was not met in time")
        time.sleep(LOOK_SECONDS)
