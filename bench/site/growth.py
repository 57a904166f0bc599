"""What a home page costs as everything grows: with the followees, and with the depth in the timeline. In one process, warm."""

import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from django.db import connection

from apps.accounts.models import User
from apps.graph.models import Followee
from apps.paging import Cursor
from apps.posts.models import Post
from apps.timeline.home import home_timeline
from bench.measure import Spread, compare
from bench.population import make_reader
from bench.report import Line
from bench.site.world import world

FOLLOWEES = (50, 500, 5000)
GROWTH_MOST, DEPTH_MOST = 1.3, 2.0
DEPTH, DEEP_FOLLOWEES, DEEP_PAGES = 100_000, 500, 60


def run(_directory: Path) -> list[Line]:
    """Both."""
    world()
    return [_by_followees(), _by_depth()]


def _by_followees() -> Line:
    readers = {most: make_reader(f"grown{most}", "%x", most) for most in FOLLOWEES}
    ways: dict[str, Callable[[], object]] = {
        f"{most:,} followees": _first_page(reader) for most, reader in readers.items()
    }
    for way in ways.values():
        for _warm in range(3):
            way()
    taken = {name: _milliseconds(one) for name, one in compare(ways).items()}
    (_name, least), *_between, (name, most) = taken.items()
    times = most.median / least.median
    return Line(
        f"home page, warm; {name}",
        "ms",
        most,
        {one: spread for one, spread in taken.items() if one != name},
        f"at most {GROWTH_MOST} times {FOLLOWEES[0]} followees",
        times <= GROWTH_MOST,
        f"{times:.2f} times",
    )


def _by_depth() -> Line:
    reader = make_reader("deep", "crowdx", DEEP_FOLLOWEES)
    followees = Followee.objects.filter(owner=reader).values("followee")
    posts = Post.objects.filter(author__in=followees).order_by("-pk").values_list("pk", flat=True)
    with connection.cursor() as sql:
        sql.execute("ANALYZE graph_followee")
    deep = list(posts[DEPTH : DEPTH + 20 * DEEP_PAGES : 20])
    first = _first_page(reader)
    for _warm in range(3):
        first()
    random.Random(1).shuffle(deep)
    taken: dict[str, list[float]] = {"first": [], "deep": []}
    for max_id in deep:  # in turn, each deep page once: nobody has read it before
        taken["first"].append(_seconds(first))
        taken["deep"].append(_seconds(partial(home_timeline, reader, Cursor(max_id=max_id))))
    first_p95, deep_p95 = (sorted(one)[int(len(one) * 0.95)] * 1000 for one in taken.values())
    times = deep_p95 / first_p95
    return Line(
        f"home page {DEPTH:,} posts down, p95",
        "ms",
        Spread.exact(deep_p95),
        {"page 1, p95": Spread.exact(first_p95)},
        f"at most {DEPTH_MOST:g} times page 1",
        times <= DEPTH_MOST,
        f"{times:.2f} times; medians {Spread.of(taken['deep']).median * 1000:.2f} and"
        f" {Spread.of(taken['first']).median * 1000:.2f} ms",
    )


def _first_page(reader: User) -> Callable[[], Any]:
    return lambda: home_timeline(reader, Cursor()).items


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _milliseconds(taken: Spread) -> Spread:
    return Spread(taken.median / 1000, taken.low / 1000, taken.high / 1000)
