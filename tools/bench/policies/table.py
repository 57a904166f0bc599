"""One policy: publications and their deliveries, a hundred home pages for each, and the stores' work for both."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.tasks import maintain_counts as maintain_user_counts
from apps.engagement.tasks import maintain_filters
from apps.pagination import Cursor
from apps.posts.actions.drafts import Draft
from apps.posts.tasks import maintain_counts
from apps.timeline import policy as policies
from apps.timeline import publishing
from apps.timeline.fanout import auto_policy, switch
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk, FanoutJob, Policy, TimelineEntry
from apps.timeline.sources.home_cache import HOME
from feedcache.connections import memcached_at, timelines
from tools.bench.measure import Spread
from tools.bench.policies import POLICIES
from tools.bench.population import deliver_owed, make_follower, write_posts
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.servers import memcached_addresses

AUTHORS, POSTS_EACH, SECONDS_APART = 100, 40, 600
READERS, FOLLOWEES, ONLINE = (
    400,
    30,
    0.2,
)  # followees of each reader, in addition to the author whom all follow
PUBLICATIONS, READS_A_WRITE = 20, 100
STARS = 5  # one publication in this many is by the author whom all follow
RETURNING = 50  # one reader in this many was not online
# Thresholds for a graph of this size: the author whom all follow counts as large, and no author as small.
AUTO_PULL_FOLLOWERS, AUTO_PUSH_FOLLOWERS = READERS // 2, 1

# What each policy writes when a post is published, and reads when a page is refreshed (sources 001, 003).
_SAYS = {
    "pull": "writes the author's outbox; reads the outboxes of all followees; most traffic occurs on refresh",
    "push": "writes every follower's home cache; reads the reader's home cache; most traffic occurs on publication",
    "online": "writes online followers' home caches; reads the reader's home cache, which is rebuilt on return",
    "auto": 'like "online push, offline pull", but pulls large authors whose posts are cheaper to pull',
}

# A lock does not count as a write.
_STATEMENTS = r"""
SELECT regexp_replace(query, 'for (no key )?update', '', 'gi') ~* '\m(insert|update|delete)\M' AS is_write,
    sum(calls)::bigint, sum(rows)::bigint
FROM pg_stat_statements
WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND query ~* '^\s*(select|insert|update|delete|with)\M' AND query !~ 'pg_stat_statements'
GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class Work:
    """The work of the stores: statements and rows of PostgreSQL, commands of Redis, keys of Memcached."""

    sql_reads: int = 0
    rows_read: int = 0
    sql_writes: int = 0
    rows_written: int = 0
    redis_reads: int = 0
    redis_writes: int = 0
    memcached_reads: int = 0
    memcached_writes: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __sub__(self, other: "Work") -> "Work":
        return Work(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(self)))

    @property
    def reads(self) -> int:
        """Data items read."""
        return self.rows_read + self.redis_reads + self.memcached_reads

    @property
    def writes(self) -> int:
        return self.rows_written + self.redis_writes + self.memcached_writes


class _Cast(NamedTuple):
    star: User  # the author whom all follow
    authors: list[User]
    readers: list[User]

    @property
    def online(self) -> list[User]:
        return self.readers[: int(READERS * ONLINE)]


def run(part: str, _directory: Path) -> list[Line]:
    """Switch the site to a policy, warm it, and measure."""
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    settings.AUTO_PULL_FOLLOWERS = AUTO_PULL_FOLLOWERS
    settings.AUTO_PUSH_FOLLOWERS = AUTO_PUSH_FOLLOWERS
    doing("people and posts")
    cast = _people()
    doing("the policy, and warm caches")
    _change_to(Policy(part), cast)
    dice = random.Random(part)
    publication, refresh = Work(), Work()
    for number in range(PUBLICATIONS):
        doing(f"publication {number + 1} of {PUBLICATIONS}, and {READS_A_WRITE} pages")
        author = cast.star if number % STARS == 0 else dice.choice(cast.authors)
        publication += work_of(partial(_publish, author))
        readers = list(_visitors(cast, dice))
        refresh += work_of(partial(_read, readers))
    return _lines(part, publication, refresh)


@cache
def _people() -> _Cast:
    now = int(timezone.now().timestamp())
    begin = now - (POSTS_EACH + 1) * SECONDS_APART
    write_posts("policyauthor", AUTHORS, POSTS_EACH, begin=begin, apart=SECONDS_APART)
    write_posts("policystar", 1, POSTS_EACH, begin=begin, apart=SECONDS_APART)
    authors = list(User.objects.filter(handle__startswith="policyauthor"))
    star = User.objects.get(handle="policystar0")
    dice, ids = random.Random(READERS), [author.pk for author in authors]
    readers = [
        make_follower(f"policyreader{number}", [*dice.sample(ids, FOLLOWEES), star.pk])
        for number in range(READERS)
    ]
    with connection.cursor() as sql:
        sql.execute("ANALYZE posts_post, accounts_user, graph_followee, graph_follower")
    prepare()
    for maintain in (maintain_counts, maintain_user_counts, maintain_filters):
        maintain()
    return _Cast(star, authors, readers)


def begin(policy: Policy) -> None:
    """Switch the site to a policy, and drop all home caches, second levels and contents of Memcached."""
    switch.set_site_policy(policy, by="bench")
    policies.load()
    client: Any = timelines()
    for key in list(client.scan_iter(f"{HOME.name}*", count=1000)):
        client.delete(key)
    TimelineEntry.objects.all().delete()
    for address in memcached_addresses():
        with memcached_at(address) as node:
            node.flush_all()


def _change_to(policy: Policy, cast: _Cast) -> None:
    """Put the policy in force, remove the home caches of earlier ones, and warm the pages of readers who are online."""
    begin(policy)
    if policy == Policy.AUTO:
        auto_policy.measure_all()
        policies.load()
    for _round in range(2):
        _read(cast.online)


def _publish(author: User) -> None:
    """Publish a post, and deliver it."""
    publishing.publish(author, Draft(body="A few words to all who follow."))
    deliver_owed()


def _visitors(cast: _Cast, dice: random.Random) -> Iterator[User]:
    dormant = cast.readers[len(cast.online) :]
    for number in range(READS_A_WRITE):
        yield dice.choice(dormant if number % RETURNING == 0 else cast.online)


def _read(readers: list[User]) -> None:
    for reader in readers:
        if not home_timeline(reader, Cursor()).items:
            raise RuntimeError(f"the page of {reader.handle} is empty")


def prepare() -> None:
    """Let PostgreSQL count its statements."""
    with connection.cursor() as sql:
        sql.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")


def work_of(work: Callable[[], object]) -> Work:
    before = look()
    work()
    return look() - before


def look() -> Work:
    """The stores' own counts, without the requests that read them."""
    with connection.cursor() as sql:
        sql.execute(_STATEMENTS)
        found = {is_write: (calls, rows) for is_write, calls, rows in sql.fetchall()}
    client: Any = timelines()
    ran = client.info("commandstats")
    flags = _flags()
    reads, writes = (
        sum(
            stat["calls"]
            for name, stat in ran.items()
            if flag in flags.get(name.removeprefix("cmdstat_"), ())
        )
        for flag in ("readonly", "write")
    )
    gets = sets = 0
    for address in memcached_addresses():
        with memcached_at(address) as node:
            stats = node.stats()
        gets, sets = gets + int(stats[b"cmd_get"]), sets + int(stats[b"cmd_set"])
    nothing = (0, 0)
    return Work(*found.get(False, nothing), *found.get(True, nothing), reads, writes, gets, sets)


@cache
def _flags() -> dict[str, list[str]]:
    client: Any = timelines()
    return {name.lower(): about["flags"] for name, about in client.command().items()}


def _lines(part: str, publication: Work, refresh: Work) -> list[Line]:
    """A publication, a refresh, and the space used: one line each, so that policies are rows of tables."""
    total, name = publication + refresh, POLICIES[part]
    pulled = len(policies.load().pulled)
    return [
        Line(
            f"{name}: a publication",
            "items written",
            Spread.exact(round(publication.writes / PUBLICATIONS, 1)),
            note=_SAYS[part] + (f"; pulled authors: {pulled}" if part == Policy.AUTO else ""),
            figures=_each(publication, PUBLICATIONS),
        ),
        Line(
            f"{name}: a refresh",
            "items read",
            Spread.exact(round(refresh.reads / PUBLICATIONS / READS_A_WRITE, 1)),
            figures=_each(refresh, PUBLICATIONS * READS_A_WRITE),
        ),
        Line(
            f"{name}: total",
            "items read per item written",
            Spread.exact(round(total.reads / max(total.writes, 1), 1)),
            figures={"copies of a post": _copies(), **_kept()},
        ),
    ]


def _each(work: Work, number: int) -> dict[str, float]:
    return {
        f.name.replace("_", " "): round(getattr(work, f.name) / number, 2) for f in fields(work)
    }


def _copies() -> float:
    """The average number of home caches that a post was delivered to, according to the receipts of the newest posts."""
    newest = list(FanoutJob.objects.order_by("-pk").values_list("pk", flat=True)[:PUBLICATIONS])
    chunks = FanoutChunk.objects.filter(job__in=newest)
    return round(sum(chunks.values_list("delivered", flat=True)) / PUBLICATIONS, 1)


def _kept() -> dict[str, float]:
    """KiB of home caches in Redis, of the second level in PostgreSQL, and of everything in Memcached."""
    client: Any = timelines()
    homes = client.scan_iter(
        f"{HOME.name}:*[0-9]", count=1000
    )  # without the bitmaps of readers who are away
    cached = 0
    for address in memcached_addresses():
        with memcached_at(address) as node:
            cached += int(node.stats()[b"bytes"])
    with connection.cursor() as sql:
        sql.execute("SELECT coalesce(sum(pg_column_size(e)), 0) FROM timeline_timelineentry e")
        (entries,) = sql.fetchone() or (0,)
    kept = {
        "home caches": sum(client.memory_usage(key) or 0 for key in homes),
        "second level": int(entries),
        "Memcached": cached,
    }
    return {f"{name}, KiB": round(size / 1024, 1) for name, size in kept.items()}
