"""A hundred requests a second, one in a hundred of them a publication, with workers, on the whole machine for
themselves.

Requests leave by the clock, whether answers have come or not: so a pause is felt by all that should have been asked
meanwhile. Who publishes is among the most followed of the graph, so what they publish is delivered to thousands, the
readers among them.
"""

import os
import random
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, TypeVar

from apps.accounts.actions import issue_token
from apps.accounts.models import User
from apps.timeline.fanout.dispatch import BULK
from tools.bench.measure import Spread
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.site import stores
from tools.bench.site.clock import seconds_below
from tools.bench.site.systems import HOME, our_site
from tools.bench.site.visitor import Visitor, bearer, percentile
from tools.bench.site.world import World, world
from tools.bench.timeline.workers import workers

RATE, SECONDS, WARM_SECONDS, READS_A_WRITE = 100, 30, 5, 100
THREADS = 32
P95_MOST, LONGEST = 30, 1000  # milliseconds
HITS_LEAST = 0.99
WRITERS = 100  # the most followed
PUBLISHES, READS = 60, 300
IDLE_SECONDS, SETTLE_SECONDS = 3, 1
QUEUES = ("sweep,default,fanout", BULK)  # of a worker each, as in docker-compose.yml
STATUSES = "/api/v1/statuses"
STATUS = {"status": "A few words among many."}
T = TypeVar("T")


class _Mixed(NamedTuple):
    """Milliseconds of answers, and who asked: they know which were errors."""

    reads: list[float]
    writes: list[float]
    visitor: Visitor


class _Cast(NamedTuple):
    readers: list[str]
    writers: list[str]


def run(directory: Path) -> list[Line]:
    """The mix at half the rate and at the whole one; then what a read and a publication take by themselves."""
    cast = _cast(world())
    with ExitStack() as stack:
        port = stack.enter_context(our_site(directory)).port
        for queues in QUEUES:
            stack.enter_context(workers(directory, queues))
        doing("warming")
        _paced(port, cast, WARM_SECONDS, RATE)
        doing(f"{RATE // 2} requests/s")
        half, _mixed = _measured(lambda: _paced(port, cast, SECONDS // 2, RATE // 2))
        doing(f"{RATE} requests/s")
        before = stores.look()
        whole, mixed = _measured(lambda: _paced(port, cast, SECONDS, RATE))
        counted = stores.look() - before
        doing("one by one")
        idle, _nothing = _measured(lambda: time.sleep(IDLE_SECONDS))
        visitor = Visitor(port)
        read, _taken = _measured(lambda: _reads(visitor, cast))
        publish, alone = _measured(lambda: _publishes(visitor, cast))
    half_cost, whole_cost = (RATE // 2, SECONDS // 2, half), (RATE, SECONDS, whole)
    costs = _Costs.of(idle, read, publish)
    return [
        _mix_line(mixed),
        Line(
            "publications of that mix, p95",
            "ms",
            Spread.exact(percentile(mixed.writes, 95)),
            {"one after the other": Spread.exact(percentile(alone, 95))},
            note=f"{len(mixed.writes)} of them; their deliveries go on meanwhile",
        ),
        Line(
            "keys answered by Memcached in that mix",
            "%",
            Spread.exact(round(counted.hit_rate * 100, 2)),
            bar=f"at least {HITS_LEAST:.0%}",
            passed=counted.hit_rate >= HITS_LEAST,
            note="an L1 node that does not have a key counts as a miss, though Main answers next",
        ),
        *(
            _foretold(rate, seconds, taken, costs)
            for rate, seconds, taken in (half_cost, whole_cost)
        ),
    ]


class _Costs(NamedTuple):
    """Seconds of processor time: of nothing for a second, of a read, of a publication with its delivery."""

    nothing: float
    read: float
    publish: float

    @classmethod
    def of(cls, idle: float, read: float, publish: float) -> "_Costs":
        nothing = idle / (IDLE_SECONDS + SETTLE_SECONDS)
        return cls(
            nothing,
            (read - nothing * SETTLE_SECONDS) / READS,
            (publish - nothing * SETTLE_SECONDS) / PUBLISHES,
        )


def _cast(here: World) -> _Cast:
    authors = User.objects.filter(pk__in=here.people.busy[:WRITERS])
    return _Cast(
        here.busy.tokens + here.quiet.tokens + here.many.tokens,
        [issue_token(author, name="bench") for author in authors],
    )


def _measured(work: Callable[[], T]) -> tuple[float, T]:
    """The processor seconds that everything but this process took, until the workers are done, and what came of it."""
    before = seconds_below(os.getpid())
    done = work()
    time.sleep(SETTLE_SECONDS)
    return seconds_below(os.getpid()) - before, done


def _reads(visitor: Visitor, cast: _Cast) -> list[float]:
    tokens = [cast.readers[at % len(cast.readers)] for at in range(READS)]
    return [visitor.ask(HOME, bearer(token)) for token in tokens]


def _publishes(visitor: Visitor, cast: _Cast) -> list[float]:
    tokens = [cast.writers[at % len(cast.writers)] for at in range(PUBLISHES)]
    return [visitor.ask(STATUSES, bearer(token), STATUS) for token in tokens]


def _paced(port: int, cast: _Cast, seconds: int, rate: int) -> _Mixed:
    visitor, dice = Visitor(port), random.Random(rate)
    reads: list[Future[float]] = []
    writes: list[Future[float]] = []
    with ThreadPoolExecutor(THREADS) as threads:
        begin = time.perf_counter() + 0.1
        for number in range(rate * seconds):
            due = begin + number / rate
            time.sleep(max(due - time.perf_counter(), 0))
            if number % (READS_A_WRITE + 1) == READS_A_WRITE:
                header = bearer(dice.choice(cast.writers))
                writes.append(threads.submit(visitor.ask, STATUSES, header, STATUS, due=due))
            else:
                header = bearer(dice.choice(cast.readers))
                reads.append(threads.submit(visitor.ask, HOME, header, due=due))
    return _Mixed([one.result() for one in reads], [one.result() for one in writes], visitor)


def _mix_line(mixed: _Mixed) -> Line:
    longest = max(mixed.reads + mixed.writes)
    p50, p95, p99 = (percentile(mixed.reads, share) for share in (50, 95, 99))
    return Line(
        f"home API at {RATE} requests/s, one in {READS_A_WRITE} publishes, p95",
        "ms",
        Spread.exact(p95),
        bar=f"under {P95_MOST} ms, none over {LONGEST / 1000:g} s",
        passed=p95 < P95_MOST and longest < LONGEST and not mixed.visitor.errors,
        note=f"p50 {p50:.1f}, p99 {p99:.1f}, longest {longest:.0f} ms;"
        f" {mixed.visitor.complaint} of {len(mixed.reads) + len(mixed.writes)}",
        figures={
            "p50 ms": round(p50, 2),
            "p95 ms": round(p95, 2),
            "p99 ms": round(p99, 2),
            "errors": mixed.visitor.errors,
            **{f"errors: {kind}": number for kind, number in mixed.visitor.failures.items()},
        },
    )


def _foretold(rate: int, seconds: int, taken: float, costs: _Costs) -> Line:
    """Cores that a load took, beside what the costs of one read and one publication foretell:
    as `./run capacity` reckons.
    """
    measured = (taken - costs.nothing * SETTLE_SECONDS) / seconds
    writes = rate / (READS_A_WRITE + 1)
    foretold = costs.nothing + (rate - writes) * costs.read + writes * costs.publish
    return Line(
        f"cores at {rate} requests/s, foretold",
        "cores",
        Spread.exact(foretold),
        {"measured": Spread.exact(measured)},
        note=f"off by {foretold / measured - 1:+.0%}",
        figures={
            "read ms": round(costs.read * 1000, 3),
            "publication ms": round(costs.publish * 1000, 2),
            "idle cores": round(costs.nothing, 4),
            "foretold cores": round(foretold, 4),
            "measured cores": round(measured, 4),
        },
    )
