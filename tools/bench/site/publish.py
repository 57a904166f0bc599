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
    everybody = world().people.everybody
    authors = {}
    for maximum in FOLLOWERS:
        doing(f"an author with {maximum:,} followers")
        authors[maximum] = author_with(f"followed{maximum}", everybody[-maximum:])
    analyse()
    own = directory / "publish"
    own.mkdir()
    with ExitStack() as stack:
        visitor = Visitor(stack.enter_context(our_site(directory)).port)
        for queues in QUEUES:
            stack.enter_context(workers(own, queues))
        ways = {
            maximum: partial(visitor.ask, STATUSES, bearer(token), STATUS)
            for maximum, (_author, token) in authors.items()
        }
        doing("publications")
        taken: dict[int, list[float]] = {maximum: [] for maximum in FOLLOWERS}
        for number in range(WARM + ROUNDS):
            for maximum, way in ways.items():
                milliseconds = way()
                if number >= WARM:
                    taken[maximum].append(milliseconds)
    p95 = {maximum: percentile(values, 95) for maximum, values in taken.items()}
    medians = {maximum: Spread.of(values).median for maximum, values in taken.items()}
    worst = max(p95.values())
    return [
        Line(
            f"publish request as followers grow, p95: {FOLLOWERS[-1]:,}",
            "ms",
            Spread.exact(p95[FOLLOWERS[-1]]),
            {f"feedsite, {maximum:,}": Spread.exact(p95[maximum]) for maximum in FOLLOWERS[:-1]},
            f"under {MOST} ms at any number",
            worst < MOST and not visitor.errors,
            f"medians {', '.join(f'{one:.1f}' for one in medians.values())} ms; {visitor.complaint}",
            axis="followers",
            growth={
                "p95": [(float(maximum), round(one, 2)) for maximum, one in p95.items()],
                "median": [(float(maximum), round(one, 2)) for maximum, one in medians.items()],
            },
        )
    ]
