"""The publish request as followers grow, while a worker delivers what was published before."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tools.bench.measure import Spread
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.site.mix import QUEUES, STATUS, STATUSES
from tools.bench.site.systems import our_site
from tools.bench.site.visitor import Visitor, bearer, percentile
from tools.bench.site.world import analyse, author_with, world
from tools.bench.timeline.workers import workers

FOLLOWERS = (10, 1000, 10_000, 100_000, 250_000)
ROUNDS, WARM = 50, 3
MOST = 25  # milliseconds


def run(directory: Path) -> list[Line]:
    """Authors of every size in turn, one publication each."""
    everybody = world().people.everybody
    authors = {}
    for most in FOLLOWERS:
        doing(f"an author with {most:,} followers")
        authors[most] = author_with(f"followed{most}", everybody[-most:])
    analyse()
    own = directory / "publish"
    own.mkdir()
    with ExitStack() as stack:
        visitor = Visitor(stack.enter_context(our_site(directory)).port)
        for queues in QUEUES:
            stack.enter_context(workers(own, queues))
        ways = {
            most: partial(visitor.ask, STATUSES, bearer(token), STATUS)
            for most, (_author, token) in authors.items()
        }
        doing("publications")
        taken: dict[int, list[float]] = {most: [] for most in FOLLOWERS}
        for number in range(WARM + ROUNDS):
            for most, way in ways.items():
                milliseconds = way()
                if number >= WARM:
                    taken[most].append(milliseconds)
    p95 = {most: percentile(values, 95) for most, values in taken.items()}
    medians = {most: Spread.of(values).median for most, values in taken.items()}
    worst = max(p95.values())
    return [
        Line(
            f"publish request as followers grow, p95: {FOLLOWERS[-1]:,}",
            "ms",
            Spread.exact(p95[FOLLOWERS[-1]]),
            {f"feedsite, {most:,}": Spread.exact(p95[most]) for most in FOLLOWERS[:-1]},
            f"under {MOST} ms at any number",
            worst < MOST and not visitor.errors,
            f"medians {', '.join(f'{one:.1f}' for one in medians.values())} ms; {visitor.complaint}",
            axis="followers",
            growth={
                "p95": [(float(most), round(one, 2)) for most, one in p95.items()],
                "median": [(float(most), round(one, 2)) for most, one in medians.items()],
            },
        )
    ]
