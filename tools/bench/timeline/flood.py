"""Home pages while a crowd searches: core reads have their own seats (`apps.http.interfaces`).

The crowd is a separate process that sends the next request as soon as one is answered or refused.
"""

import multiprocessing
import random
from pathlib import Path
from typing import Self

from django.utils import timezone

from apps.accounts.actions import issue_token
from tools.bench.measure import Spread
from tools.bench.population import make_reader, write_posts
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.site.systems import HOME, our_site
from tools.bench.site.visitor import Visitor, bearer, insist, percentile

AUTHORS, POSTS_EACH, SECONDS_APART, READERS = 50, 40, 97, 20
CROWD = 40  # concurrent searches
ROUNDS, PAGES = 4, 100  # pages per round, with the flood and without it in turn
SEARCH = "/api/v2/search?q=words&type=statuses"


def run(directory: Path) -> list[Line]:
    begin = int(timezone.now().timestamp()) - (POSTS_EACH + 1) * SECONDS_APART
    write_posts("floodauthor", AUTHORS, POSTS_EACH, begin=begin, apart=SECONDS_APART)
    readers = [make_reader(f"floodreader{number}", "floodauthor") for number in range(READERS)]
    tokens = [issue_token(reader, name="bench") for reader in readers]
    calm: list[float] = []
    flooded: list[float] = []
    searches = refused = 0
    with our_site(directory) as web:
        visitor, dice = Visitor(web.port), random.Random(CROWD)
        _pages(visitor, tokens, dice)
        for number in range(ROUNDS):
            doing(f"round {number + 1} of {ROUNDS}")
            calm += _pages(visitor, tokens, dice)
            with _Crowd(web.port, tokens[0]) as crowd:
                flooded += _pages(visitor, tokens, dice)
            searches, refused = searches + crowd.answers, refused + crowd.refused
    calm_p95, flooded_p95 = percentile(calm, 95), percentile(flooded, 95)
    return [
        Line(
            f"home API p95 while {CROWD} clients search without a pause",
            "times the p95 without them",
            Spread.exact(round(flooded_p95 / calm_p95, 2)),
            note=f"{flooded_p95:.1f} ms with and {calm_p95:.1f} ms without, {len(calm)} pages each;"
            f" {visitor.complaint}; {refused:,} of {searches:,} searches were refused",
            figures={"pages refused": visitor.errors, "searches": searches, "refused": refused},
        )
    ]


def _pages(visitor: Visitor, tokens: list[str], dice: random.Random) -> list[float]:
    return [visitor.ask(HOME, bearer(dice.choice(tokens))) for _page in range(PAGES)]


class _Crowd:
    """Searches until the end of the block; then `answers` and `refused` have the numbers of searches."""

    def __init__(self, port: int, token: str) -> None:
        context = multiprocessing.get_context("spawn")  # this process has threads and connections
        self._stop, self._found = context.Event(), context.Queue()
        self._process = context.Process(
            target=insist, args=(port, SEARCH, bearer(token), CROWD, self._stop, self._found)
        )
        self.answers = self.refused = 0

    def __enter__(self) -> Self:
        self._process.start()
        self._found.get(timeout=60)  # it has begun
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self.answers, self.refused = self._found.get(timeout=60)
        self._process.join(60)
