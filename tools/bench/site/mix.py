"""A hundred requests per second, one in a hundred of them a publication, with workers.

In turns with the mix, a constant page is requested at the same rate: its p95 describes the machine. Requests are sent
by the clock, whether responses have arrived or not, so a pause affects all requests that were due meanwhile. The
publishers are among the most followed accounts of the graph, so their posts are delivered to thousands of accounts,
including the readers.
"""

import os
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from apps.accounts.actions import issue_token
from apps.accounts.models import User
from apps.timeline.fanout.dispatch import BULK
from tools.bench import bars
from tools.bench.measure import Spread
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.site import stores
from tools.bench.site.clock import seconds_below, seconds_of, waiting_of
from tools.bench.site.systems import CONSTANT_PAGE, HOME, constant_site, our_site
from tools.bench.site.visitor import Visitor, bearer, percentile
from tools.bench.site.web import fetch
from tools.bench.site.world import World, world
from tools.bench.timeline.workers import workers

RATE, WARM_SECONDS, READS_A_WRITE = 100, 10, 100
TURNS, TURN_SECONDS, CONSTANT_SECONDS = 6, 5, 2
HALF_SECONDS = 15
THREADS = 32
WRITERS = 100  # the most followed
# A request after a pause costs more than one right after another. So the cost of one request is measured by the clock,
# too, at a rate between those of the two loads.
READ_RATE, READ_SECONDS = 75, 10
PUBLISH_RATE, PUBLISH_SECONDS = 3, 15
IDLE_SECONDS, SETTLE_SECONDS = 5, 1
QUEUES = ("sweep,default,fanout", BULK)  # of one worker each, as in docker-compose.yml
STATUSES = "/api/v1/statuses"
STATUS = {"status": "A few words among many."}
T = TypeVar("T")


class Request(Protocol):
    """Sends a request; returns the milliseconds from its due time to its response."""

    def __call__(self, *, due: float) -> float: ...


class _Cast(NamedTuple):
    readers: list[str]
    writers: list[str]


def run(directory: Path) -> list[Line]:
    """The mix at half the rate and at the full rate; then reads alone and publications alone."""
    here = world()
    cast = _cast(here)
    with ExitStack() as stack:
        site = stack.enter_context(our_site(directory))
        visitor = Visitor(site.port)
        page = fetch(visitor.port, HOME, bearer(cast.readers[0]))
        constant = Visitor(stack.enter_context(constant_site(directory, page)).port)
        for queues in QUEUES:
            stack.enter_context(workers(directory, queues))
        doing("warming")
        _mix(visitor, cast, WARM_SECONDS, RATE)
        _constant(constant, CONSTANT_SECONDS, RATE)
        doing(f"{RATE // 2} requests/s")
        half, _taken = _measured(lambda: _mix(visitor, cast, HALF_SECONDS, RATE // 2))
        doing(f"{RATE} requests/s")
        before = stores.look()
        whole = _in_turns(visitor, constant, cast, site.child.pid)
        counted = stores.look() - before
        doing("one kind at a time")
        idle, _nothing = _measured(lambda: time.sleep(IDLE_SECONDS))
        read, _taken_by_reads = _measured(lambda: _reads(visitor, cast))
        publish, alone = _measured(lambda: _publishes(visitor, cast))
    costs = _Costs.of(idle, read, publish)
    half_cores = (half - costs.nothing * SETTLE_SECONDS) / HALF_SECONDS
    whole_cores = whole.spent / TURNS - costs.nothing * SETTLE_SECONDS
    return [
        _mix_line(whole, visitor, constant),
        Line(
            "publications in the mixed load, p95",
            "ms",
            Spread.exact(percentile(whole.writes, 95)),
            {"without reads": Spread.exact(percentile(alone, 95))},
            note=f"{len(whole.writes)} publications; their deliveries continue at the same time",
        ),
        Line(
            "Memcached hit rate in the mixed load",
            "%",
            Spread.exact(round(counted.hit_rate * 100, 2)),
            note="a key that is not in L1 counts as a miss, even if Main has it",
        ),
        _foretold(RATE // 2, half_cores, costs),
        _foretold(RATE, whole_cores / TURN_SECONDS, costs),
    ]


@dataclass
class _Mixed:
    """Milliseconds of responses, and processor seconds of everything but this process."""

    reads: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)
    constant: list[float] = field(default_factory=list)
    spent: float = 0.0
    running: float = 0.0  # seconds in which threads of the web process ran
    waiting: float = 0.0  # seconds in which they were ready but had no core


def _in_turns(visitor: Visitor, constant: Visitor, cast: _Cast, web: int) -> _Mixed:
    found = _Mixed()
    for _turn in range(TURNS):
        found.constant += _constant(constant, CONSTANT_SECONDS, RATE)
        found.running -= seconds_of([web])
        found.waiting -= waiting_of([web])
        spent, (reads, writes) = _measured(lambda: _mix(visitor, cast, TURN_SECONDS, RATE))
        found.reads += reads
        found.writes += writes
        found.spent += spent
        found.running += seconds_of([web])
        found.waiting += waiting_of([web])
    return found


class _Costs(NamedTuple):
    """Seconds of processor time: idle per second, per read, and per publication with its delivery."""

    nothing: float
    read: float
    publish: float

    @classmethod
    def of(cls, idle: float, read: float, publish: float) -> "_Costs":
        nothing = idle / (IDLE_SECONDS + SETTLE_SECONDS)
        return cls(
            nothing,
            (read - nothing * (READ_SECONDS + SETTLE_SECONDS)) / (READ_RATE * READ_SECONDS),
            (publish - nothing * (PUBLISH_SECONDS + SETTLE_SECONDS))
            / (PUBLISH_RATE * PUBLISH_SECONDS),
        )


def _cast(here: World) -> _Cast:
    authors = User.objects.filter(pk__in=here.people.busy[:WRITERS])
    return _Cast(
        here.busy.tokens + here.quiet.tokens,
        [issue_token(author, name="bench") for author in authors],
    )


def _measured(work: Callable[[], T]) -> tuple[float, T]:
    """The processor seconds of everything but this process until the workers are done, and the result of `work`."""
    before = seconds_below(os.getpid())
    done = work()
    time.sleep(SETTLE_SECONDS)
    return seconds_below(os.getpid()) - before, done


def _reads(visitor: Visitor, cast: _Cast) -> list[float]:
    dice = random.Random(READ_RATE)
    headers = [bearer(dice.choice(cast.readers)) for _read in range(READ_RATE * READ_SECONDS)]
    return _paced([partial(visitor.ask, HOME, header) for header in headers], READ_RATE)


def _publishes(visitor: Visitor, cast: _Cast) -> list[float]:
    dice = random.Random(PUBLISH_RATE)
    headers = [bearer(dice.choice(cast.writers)) for _post in range(PUBLISH_RATE * PUBLISH_SECONDS)]
    return _paced([partial(visitor.ask, STATUSES, header, STATUS) for header in headers], PUBLISH_RATE)  # fmt: skip


def _mix(visitor: Visitor, cast: _Cast, seconds: int, rate: int) -> tuple[list[float], list[float]]:
    """Milliseconds of reads and of publications."""
    dice = random.Random(rate)
    total = rate * seconds
    writes = set(range(READS_A_WRITE // 2, total, READS_A_WRITE + 1))
    requests: list[Request] = [
        partial(visitor.ask, STATUSES, bearer(dice.choice(cast.writers)), STATUS)
        if number in writes
        else partial(visitor.ask, HOME, bearer(dice.choice(cast.readers)))
        for number in range(total)
    ]
    taken = _paced(requests, rate)
    return (
        [one for number, one in enumerate(taken) if number not in writes],
        [taken[number] for number in sorted(writes)],
    )


def _constant(visitor: Visitor, seconds: int, rate: int) -> list[float]:
    return _paced([partial(visitor.ask, CONSTANT_PAGE, ("Accept", "*/*"))] * rate * seconds, rate)


def _paced(requests: Sequence[Request], rate: int) -> list[float]:
    """Milliseconds of responses to requests that are sent by the clock."""
    found: list[Future[float]] = []
    with ThreadPoolExecutor(THREADS) as threads:
        begin = time.perf_counter() + 0.1
        for number, request in enumerate(requests):
            due = begin + number / rate
            time.sleep(max(due - time.perf_counter(), 0))
            found.append(threads.submit(request, due=due))
    return [one.result() for one in found]


def _mix_line(mixed: _Mixed, visitor: Visitor, constant: Visitor) -> Line:
    longest = max(mixed.reads + mixed.writes)
    p50, p95, p99 = (percentile(mixed.reads, share) for share in (50, 95, 99))
    constant_p95 = percentile(mixed.constant, 95)
    return bars.MIX.line(
        "ms",
        Spread.exact(p95),
        p95 / constant_p95,
        others={"constant page": Spread.exact(constant_p95)},
        errors=visitor.errors + constant.errors,
        note=f"p50 {p50:.1f}, p99 {p99:.1f}, longest {longest:.0f} ms;"
        f" {visitor.complaint} of {len(mixed.reads) + len(mixed.writes)}; the web process used"
        f" {mixed.running / (TURNS * TURN_SECONDS):.2f} cores, and its threads waited"
        f" {mixed.waiting / (TURNS * TURN_SECONDS):.2f} s per second for a core",
        figures={
            "p50 ms": round(p50, 2),
            "p95 ms": round(p95, 2),
            "p99 ms": round(p99, 2),
            "errors": visitor.errors,
            **{f"errors: {kind}": number for kind, number in visitor.failures.items()},
        },
    )


def _foretold(rate: int, measured: float, costs: _Costs) -> Line:
    """Cores used by a load, compared with a prediction from the cost of a read and a publication (`./run capacity`)."""
    writes = rate / (READS_A_WRITE + 1)
    foretold = costs.nothing + (rate - writes) * costs.read + writes * costs.publish
    return Line(
        f"cores at {rate} requests/s, predicted",
        "cores",
        Spread.exact(foretold),
        {"measured": Spread.exact(measured)},
        note=f"off by {foretold / measured - 1:+.0%}",
        figures={
            "read ms": round(costs.read * 1000, 3),
            "publication ms": round(costs.publish * 1000, 2),
            "idle cores": round(costs.nothing, 4),
            "predicted cores": round(foretold, 4),
            "measured cores": round(measured, 4),
        },
    )
