"""Heavy rank: the cost per reader of scoring a delivered post, and of a page, compared with light rank."""

import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.accounts.tasks import maintain_counts as maintain_user_counts
from apps.pagination import Cursor
from apps.posts.actions.drafts import Draft
from apps.posts.tasks import maintain_counts
from apps.ranking import rank_timeline
from apps.ranking.algorithms import weights_of
from apps.ranking.ordering import choose_algorithm, ranked_page
from apps.ranking.scoring import heavy
from apps.timeline.fanout import dispatch
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk
from apps.timeline.publishing import publish
from feedcache.connections import timelines
from tools.bench.measure import Spread, compare
from tools.bench.population import make_reader, write_posts
from tools.bench.report import Line

AUTHORS, POSTS_EACH, SECONDS_APART = 100, 12, 97  # more posts than light rank considers
READERS, ROUNDS, LIMIT = 50, 7, 20


def run(_directory: Path) -> list[Line]:
    begin = int(timezone.now().timestamp()) - (POSTS_EACH + 1) * SECONDS_APART
    write_posts("rankedx", AUTHORS, POSTS_EACH, begin=begin, apart=SECONDS_APART)
    readers = [make_reader(f"rank_reader{number}", "rankedx") for number in range(READERS)]
    for maintain in (maintain_counts, maintain_user_counts):
        maintain()
    for reader in readers:
        choose_algorithm(reader, heavy.name)
        ranked_page(reader, limit=1)
    return [_deliveries(), _rebuilds(readers[0]), _pages(readers[0])]


def _deliveries() -> Line:
    """In each round a post of another author is delivered to all readers, and scored for each."""
    taken: list[float] = []
    for author in User.objects.filter(handle__startswith="rankedx").order_by("pk")[:ROUNDS]:
        post = publish(users_by_id([author.pk])[author.pk], Draft(body="A post.")).post
        dispatch.start_job(post.pk)
        chunk = FanoutChunk.objects.get(job=post.pk)
        began = time.perf_counter()
        done = rank_timeline.score_delivered(chunk.pk)
        taken.append((time.perf_counter() - began) * 1000 / READERS)
        assert done == READERS
    cost = Spread.of(taken)
    return Line(
        f"heavy rank: scoring a delivered post for one of {READERS} online readers",
        "ms",
        cost,
        note=f"{1000 / cost.median:,.0f} scores/s per core",
    )


def _rebuilds(reader: User) -> Line:
    weights, length = weights_of(heavy), settings.RANK_CANDIDATES

    def rebuild() -> Any:
        rank_timeline.drop(reader.pk)
        return rank_timeline.order(heavy, reader, weights)

    cost = _milliseconds(compare({"rebuild": rebuild}, rounds=ROUNDS)["rebuild"])
    keys = rank_timeline.keys_of(reader.pk)
    size = sum(int(timelines().memory_usage(key, samples=0) or 0) for key in keys)
    return Line(
        f"heavy rank: rebuilding a rank timeline of {length} posts",
        "ms",
        cost,
        note=f"{1000 * length / cost.median:,.0f} scores/s per core; {size / 1024:,.0f} KB in Redis",
    )


def _pages(reader: User) -> Line:
    """The first page, for which light rank scores `RANK_CANDIDATES` posts each time."""

    def page_of(name: str) -> Spread:
        choose_algorithm(reader, name)
        ranked_page(reader, limit=LIMIT)
        ways = {name: lambda: ranked_page(reader, limit=LIMIT)}
        return _milliseconds(compare(ways, rounds=ROUNDS)[name])

    home = compare({"home": lambda: home_timeline(reader, Cursor(limit=LIMIT))}, rounds=ROUNDS)
    return Line(
        f"first ranked page of {LIMIT} posts, heavy",
        "ms",
        page_of("heavy"),
        {
            f"light, of {settings.RANK_CANDIDATES:,} candidates": page_of("light"),
            "the home page": _milliseconds(home["home"]),
        },
    )


def _milliseconds(spread: Spread) -> Spread:
    return Spread(spread.median / 1000, spread.low / 1000, spread.high / 1000)
