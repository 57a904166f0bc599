"""A hundred requests a second, one in a hundred of them a publication, with workers, on the whole machine for themselves.

Requests leave by the clock, whether answers have come or not: so a pause is felt by all that should have been asked meanwhile.
"""

import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import TypeVar

from bench.measure import Spread
from bench.report import Line
from bench.site.clock import seconds_below
from bench.site.web import Web, web
from bench.site.world import World, world
from bench.timeline.workers import workers
from runner.programs import QUEUES

RATE, SECONDS, WARM_SECONDS, READS_A_WRITE = 100, 25, 5, 100
THREADS = 32
P95_MOST, PUBLISH_P95_MOST, LONGEST = 30, 25, 1000  # milliseconds
PUBLISHES, READS = 100, 300
IDLE_SECONDS, SETTLE_SECONDS = 3, 1
UNLIMITED = str(10**9)
T = TypeVar("T")
HOME, STATUSES = "/api/v1/timelines/home", "/api/v1/statuses"


class _Client:
    """One connection for each thread."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.local = threading.local()
        self.errors = 0

    def ask(self, due: float, token: str, *, publishes: bool = False) -> float:
        """Milliseconds from when the request was due until its answer was there."""
        connection = getattr(self.local, "connection", None)
        if connection is None:
            connection = self.local.connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        headers = {"Authorization": f"Bearer {token}", "Host": "localhost"}
        if publishes:
            body = json.dumps({"status": "A few words among many."})
            headers["Content-Type"] = "application/json"
            connection.request("POST", STATUSES, body, headers)
        else:
            connection.request("GET", HOME, headers=headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != HTTPStatus.OK:
            self.errors += 1
        return (time.perf_counter() - due) * 1000


def run(directory: Path) -> list[Line]:
    """The mix, then publications one after the other."""
    here = world()
    limits = {f"LIMIT_{name}": UNLIMITED for name in ("API", "API_ADDRESS", "PUBLISH")}
    with ExitStack() as stack:
        server = stack.enter_context(web("mix", "feedsite.wsgi:application", directory, **limits))
        stack.enter_context(workers(directory, QUEUES))
        _paced(server, here, WARM_SECONDS, RATE)
        half, _client = _measured(lambda: _paced(server, here, SECONDS // 2, RATE // 2))
        whole, (client, reads, writes) = _measured(lambda: _paced(server, here, SECONDS, RATE))
        idle, _nothing = _measured(lambda: time.sleep(IDLE_SECONDS))
        read, _milliseconds = _measured(lambda: _one_by_one(client, here, READS))
        publish, alone = _measured(lambda: _one_by_one(client, here, PUBLISHES, publishes=True))
    longest = max(reads + writes)
    p95 = _percentile(reads, 95)
    return [
        Line(
            f"home API at {RATE} requests/s, one in {READS_A_WRITE} publishes, p95",
            "ms",
            Spread.exact(p95),
            bar=f"under {P95_MOST} ms, none over {LONGEST / 1000:g} s",
            passed=p95 < P95_MOST and longest < LONGEST and not client.errors,
            note=f"p50 {_percentile(reads, 50):.1f}, p99 {_percentile(reads, 99):.1f}, longest {longest:.0f} ms;"
            f" {client.errors} errors of {len(reads) + len(writes)}",
        ),
        Line(
            "publish request, p95",
            "ms",
            Spread.exact(_percentile(alone, 95)),
            bar=f"under {PUBLISH_P95_MOST} ms; the same at any number of followers: suite `timeline`, part `publish`",
            passed=_percentile(alone, 95) < PUBLISH_P95_MOST,
            note=f"p50 {_percentile(alone, 50):.1f} ms",
        ),
        *_predictions(
            {SECONDS // 2: (RATE // 2, half), SECONDS: (RATE, whole)}, idle, read, publish
        ),
    ]


def _measured(work: Callable[[], T]) -> tuple[float, T]:
    """The processor seconds that everything but this process took, until the workers are done, and what came of it."""
    before = seconds_below(os.getpid())
    done = work()
    time.sleep(SETTLE_SECONDS)
    return seconds_below(os.getpid()) - before, done


def _one_by_one(
    client: _Client, here: World, number: int, *, publishes: bool = False
) -> list[float]:
    return [
        client.ask(time.perf_counter(), here.busy[at % len(here.busy)], publishes=publishes)
        for at in range(number)
    ]


def _paced(
    server: Web, here: World, seconds: int, rate: int
) -> tuple[_Client, list[float], list[float]]:
    """So many seconds of the mix: the client, and milliseconds of reads and of writes."""
    client, dice = _Client(server.port), random.Random(1)
    tokens = here.busy + here.quiet
    reads: list[Future[float]] = []
    writes: list[Future[float]] = []
    with ThreadPoolExecutor(THREADS) as threads:
        begin = time.perf_counter() + 0.1
        for number in range(rate * seconds):
            due = begin + number / rate
            time.sleep(max(due - time.perf_counter(), 0))
            publishes = number % (READS_A_WRITE + 1) == READS_A_WRITE
            token = dice.choice(here.busy if publishes else tokens)
            work = threads.submit(client.ask, due, token, publishes=publishes)
            (writes if publishes else reads).append(work)
    return client, [one.result() for one in reads], [one.result() for one in writes]


def _predictions(
    loads: Mapping[int, tuple[int, float]], idle: float, read: float, publish: float
) -> Iterator[Line]:
    """Cores that two loads took, beside what the costs of one read and one publication foretell: as `./run capacity` reckons."""
    nothing = idle / (IDLE_SECONDS + SETTLE_SECONDS)
    costs = [
        (read - nothing * SETTLE_SECONDS) / READS,
        (publish - nothing * SETTLE_SECONDS) / PUBLISHES,
    ]
    for seconds, (rate, taken) in loads.items():
        measured = (taken - nothing * SETTLE_SECONDS) / seconds
        writes = rate / (READS_A_WRITE + 1)
        foretold = nothing + (rate - writes) * costs[0] + writes * costs[1]
        yield Line(
            f"cores at {rate} requests/s, foretold",
            "cores",
            Spread.exact(foretold),
            {"measured": Spread.exact(measured)},
            note=f"off by {foretold / measured - 1:+.0%}; a read takes {costs[0] * 1000:.2f} ms of processor time,"
            f" a publication with its delivery {costs[1] * 1000:.1f} ms",
        )


def _percentile(values: Sequence[float], percent: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)]
