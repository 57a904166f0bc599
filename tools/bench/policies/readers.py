"""Readers with thousands of followees: the same page by push and by pull, warm and without any cache (source 004)."""

import time
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.tasks import maintain_counts as maintain_user_counts
from apps.engagement.tasks import maintain_filters
from apps.pagination import Cursor
from apps.posts.tasks import maintain_counts
from apps.timeline import policy as policies
from apps.timeline.home import home_timeline
from apps.timeline.models import Policy
from apps.timeline.sources.home_cache import HOME
from feedcache.connections import memcached_at, timelines
from tools.bench.measure import Spread, compare
from tools.bench.policies.table import begin, prepare, work_of
from tools.bench.population import make_follower, write_posts
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.servers import memcached_addresses
from tools.bench.site import trips

FOLLOWEES = (2_000, 7_500)
POSTS_EACH, SECONDS_APART = 50, 3_600
WARM, ROUNDS, COLD_ROUNDS = 3, 15, 5
WAYS = {Policy.ONLINE: "push", Policy.PULL: "pull"}


def run(_part: str, _directory: Path) -> list[Line]:
    """Lines for the page of each reader, by push and by pull."""
    doing("people and posts")
    settings.MERGED_AUTHORS_SECONDS = 60  # complete pages, however long they take
    now = int(timezone.now().timestamp())
    start = now - (POSTS_EACH + 1) * SECONDS_APART
    write_posts("wideauthor", FOLLOWEES[-1], POSTS_EACH, begin=start, apart=SECONDS_APART)
    authors = list(
        User.objects.filter(handle__startswith="wideauthor").order_by("pk").values_list(flat=True)
    )
    readers = {number: make_follower(f"wide{number}", authors[:number]) for number in FOLLOWEES}
    with connection.cursor() as sql:
        sql.execute("ANALYZE posts_post, accounts_usercounts, graph_followee")
    prepare()
    for maintain in (maintain_counts, maintain_user_counts, maintain_filters):
        maintain()
    lines: list[Line] = []
    for number, reader in readers.items():
        found = [_lines(policy, number, reader) for policy in WAYS]
        if found[0][0] != found[1][0]:
            raise RuntimeError(f"push and pull show different pages to a reader of {number}")
        lines += [line for _ids, some in found for line in some]
    return lines


def _lines(policy: Policy, number: int, reader: User) -> tuple[list[int], list[Line]]:
    doing(f"{WAYS[policy]}, {number:,} followees")
    look = partial(_look, reader)
    cold = Spread.of([_cold(policy, look) for _round in range(COLD_ROUNDS)])
    for _warm in range(WARM):
        look()
    with trips.counted() as asked:
        ids = look()
    work = work_of(look)
    warm = _milliseconds(compare({"page": look}, rounds=ROUNDS)["page"])
    what = f"{WAYS[policy]}, {number:,} followees"
    figures: dict[str, float] = {
        "SQL statements": work.sql_reads,
        "Redis commands": work.redis_reads + work.redis_writes,
        "Memcached keys": work.memcached_reads,
        "round trips": asked.trips,
        "KiB stored for this reader only": _own(reader),
        "KiB in Memcached, for all readers": _shared(),
    }
    return ids, [
        Line(f"{what}: a page, warm", "ms", warm, figures=figures),
        Line(f"{what}: a page, nothing cached", "ms", cold),
    ]


def _look(reader: User) -> list[int]:
    return [item.id for item in home_timeline(reader, Cursor()).items]


def _cold(policy: Policy, look: partial[list[int]]) -> float:
    begin(policy)
    started = time.perf_counter()
    look()
    return (time.perf_counter() - started) * 1000


def _milliseconds(taken: Spread) -> Spread:
    return Spread(taken.median / 1000, taken.low / 1000, taken.high / 1000)


def _own(reader: User) -> float:
    client: Any = timelines()
    key = HOME.of(policies.generation()).key(reader.pk)
    return round((client.memory_usage(key) or 0) / 1024, 1)


def _shared() -> float:
    total = 0
    for address in memcached_addresses():
        with memcached_at(address) as node:
            total += int(node.stats()[b"bytes"])
    return round(total / 1024)
