"""The publish request as followers grow, while a worker delivers earlier posts.

It is measured in rotation with the least that a publication could be: an INSERT of one row of about the size of a post,
and its COMMIT.
"""

import time
from contextlib import ExitStack
from pathlib import Path

from django.db import connection

from tools.bench import bars
from tools.bench.measure import Spread
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.site.clock import seconds_of
from tools.bench.site.mix import QUEUES, STATUS, STATUSES
from tools.bench.site.systems import our_site
from tools.bench.site.visitor import Visitor, bearer, percentile
from tools.bench.site.world import analyse, author_with, world
from tools.bench.timeline.workers import workers

FOLLOWERS = (10, 1000, 10_000, 100_000, 250_000)
ROUNDS, WARM = 50, 3
BARE, BODY = "INSERT and COMMIT", "x" * 100
_TABLE = """
CREATE TABLE IF NOT EXISTS bench_row (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, author_id bigint NOT NULL, body text NOT NULL,
    language text NOT NULL, created_at timestamptz NOT NULL
)
"""
_INSERT = (
    "INSERT INTO bench_row (author_id, body, language, created_at) VALUES (%s, %s, 'en', now())"
)


def run(directory: Path) -> list[Line]:
    everybody = world().people.everybody
    tokens = {}
    for maximum in FOLLOWERS:
        doing(f"an author with {maximum:,} followers")
        _author, tokens[maximum] = author_with(f"followed{maximum}", everybody[-maximum:])
    analyse()
    own = directory / "publish"
    own.mkdir()
    with connection.cursor() as sql:
        sql.execute(_TABLE)
    with ExitStack() as stack:
        site = stack.enter_context(our_site(directory))
        visitor = Visitor(site.port)
        for queues in QUEUES:
            stack.enter_context(workers(own, queues))
        doing("publications")
        _rounds(visitor, tokens, WARM)
        before = seconds_of([site.child.pid])
        taken, bare = _rounds(visitor, tokens, ROUNDS)
        cost = (seconds_of([site.child.pid]) - before) * 1000 / len(bare)
    return [
        _line(taken, bare, visitor),
        bars.PUBLISH_COST.line("ms", Spread.exact(cost), cost, note="as counted by the kernel"),
    ]


def _rounds(
    visitor: Visitor, tokens: dict[int, str], rounds: int
) -> tuple[dict[int, list[float]], list[float]]:
    """Milliseconds of publications by the number of followers, and of a bare row for comparison."""
    taken: dict[int, list[float]] = {maximum: [] for maximum in tokens}
    bare = []
    for _round in range(rounds):
        for maximum, token in tokens.items():
            taken[maximum].append(visitor.ask(STATUSES, bearer(token), STATUS))
            bare.append(_insert())
    return taken, bare


def _insert() -> float:
    """Milliseconds of a transaction with one row, through the driver alone."""
    connection.ensure_connection()
    driver = connection.connection
    begin = time.perf_counter()
    with driver.transaction():
        driver.execute(_INSERT, [1, BODY])
    return (time.perf_counter() - begin) * 1000


def _line(taken: dict[int, list[float]], bare: list[float], visitor: Visitor) -> Line:
    p95 = {maximum: percentile(values, 95) for maximum, values in taken.items()}
    medians = {maximum: Spread.of(values).median for maximum, values in taken.items()}
    least, middle = percentile(bare, 95), Spread.of(bare).median
    return bars.PUBLISH.line(
        "ms",
        Spread.exact(max(p95.values())),
        max(p95.values()) / least,
        others={BARE: Spread.exact(least)},
        errors=visitor.errors,
        note=f"medians {', '.join(f'{one:.1f}' for one in medians.values())} and {middle:.2f} ms; {visitor.complaint}",
        axis="followers",
        growth={
            "p95": [(float(maximum), round(one, 2)) for maximum, one in p95.items()],
            "median": [(float(maximum), round(one, 2)) for maximum, one in medians.items()],
            f"{BARE}, p95": [(float(maximum), round(least, 3)) for maximum in FOLLOWERS],
        },
    )
