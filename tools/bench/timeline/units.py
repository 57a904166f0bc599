"""The cost of one follower, one page and one rebuild; `apps/timeline/fanout/auto_policy.py` uses the first two.

It is measured in this process, without workers: the processor time of Redis by its own count and of this process by the
kernel's, and the elapsed time, which includes waiting. A delivery with a fifth of the followers online and one with
nobody online give the cost of both kinds of followers.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.pagination import Cursor
from apps.timeline import policy as policies
from apps.timeline.fanout import switch
from apps.timeline.home import home_timeline
from apps.timeline.models import Policy
from apps.timeline.sources.home_cache import HOME, INBOX, rebuild_home, rebuild_inbox
from feedcache.connections import timelines
from tools.bench.measure import Spread
from tools.bench.population import deliver_owed, make_follower, write_posts
from tools.bench.report import Line
from tools.bench.timeline import people
from tools.bench.timeline.fanout import publish_for

FOLLOWERS, ROUNDS, WARM = 20_000, 15, 2
AUTHORS, POSTS_EACH, SECONDS_APART = 200, 40, 97
PULLED, PAGES = (1, 41, 101), 60
KINDS = ("redis", "process", "clock")


@dataclass(frozen=True, slots=True)
class Taken:
    """Costs in microseconds."""

    redis: float
    process: float
    clock: float


def run(_directory: Path) -> list[Line]:
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    return [*_deliveries(), *_pages(), *_rebuilds()]


def _deliveries() -> list[Line]:
    small, crowd = people.author(people.SMALL), people.author(FOLLOWERS)
    switch.set_site_policy(Policy.ONLINE, by="bench")
    base, fifth = _delivery(small), _delivery(crowd)
    switch.set_author_policy(crowd, Policy.PUSH, by="bench")
    for_everybody = _delivery(crowd)
    switch.set_author_policy(crowd, Policy.SITE, by="bench")
    HOME.drop_many(people.reader_ids(FOLLOWERS))
    away = _delivery(crowd)
    online = FOLLOWERS * people.LIVE
    lines = [_line(f"a delivery to {people.SMALL} followers", "us", base)]
    per_away = _each(away, base, FOLLOWERS)
    lines.append(_line("a follower who is away", "us", per_away))
    lines.append(
        _line("additional cost of a follower who is online", "us", _each(fifth, away, online))
    )
    lines.append(_line("a row of the second level", "us", _each(for_everybody, fifth, FOLLOWERS)))
    return lines


def _delivery(author: User) -> Taken:
    """The cost from the event to the last receipt."""
    taken = []
    for _round in range(WARM + ROUNDS):
        publish_for(author)
        taken.append(_time(deliver_owed))
    return _least(taken[WARM:])


def _least(taken: Sequence[Taken]) -> Taken:
    """The minimum of each cost: disturbances only add to it."""
    return Taken(*(min(getattr(one, name) for one in taken) for name in KINDS))


def _time(work: Callable[[], object]) -> Taken:
    client: Any = timelines()
    stores, process, clock = _cpu(client), time.process_time(), time.perf_counter()
    work()
    passed = time.perf_counter() - clock, time.process_time() - process
    return Taken((_cpu(client) - stores) * 1e6, passed[1] * 1e6, passed[0] * 1e6)


def _cpu(client: Any) -> float:
    used = client.info("cpu")
    total: float = used["used_cpu_user_main_thread"] + used["used_cpu_sys_main_thread"]
    return total


def _each(more: Taken, less: Taken, number: float) -> Taken:
    return Taken(*((getattr(more, name) - getattr(less, name)) / number for name in KINDS))


def _line(what: str, unit: str, taken: Taken) -> Line:
    figures = {
        "Redis us": round(taken.redis, 2),
        "process us": round(taken.process, 2),
        "clock us": round(taken.clock, 2),
    }
    return Line(what, unit, Spread.exact(round(taken.clock, 2)), figures=figures)


def _pages() -> list[Line]:
    """A page of a reader who follows pulled authors, compared with the same page without any."""
    now = int(time.time())
    begin = now - (POSTS_EACH + 1) * SECONDS_APART
    write_posts("unitauthor", AUTHORS, POSTS_EACH, begin=begin, apart=SECONDS_APART)
    authors = list(User.objects.filter(handle__startswith="unitauthor").order_by("pk"))
    make_follower("unitreader", [author.pk for author in authors])
    reader = user_by_handle("unitreader")
    pages = {0: _page(reader)}
    for number in PULLED:
        for author in authors[:number]:
            switch.set_author_policy(author, Policy.PULL, by="bench")
        policies.load()
        pages[number] = _page(reader)
    one, *_others, most = PULLED
    each = (pages[most] - pages[one]) / (most - one)
    make_follower("unitbystander", [author.pk for author in authors[most:]])
    bystander = user_by_handle("unitbystander")
    asked = _page(bystander)
    for author in authors[:most]:
        switch.set_author_policy(author, Policy.ONLINE, by="bench")
    deliver_owed()
    policies.load()
    alone = _page(bystander)
    found = {
        "one more pulled author whom a reader follows": each,
        "the site's first pulled author": pages[one] - pages[0] - each,
        f"additional cost while {most} authors are pulled whom the reader does not follow": asked
        - alone,
        "the page without pulled authors": pages[0],
    }
    return [Line(what, "us", Spread.exact(round(taken, 1))) for what, taken in found.items()]


def _page(reader: User) -> float:
    """Processor time of this process for a page."""
    return min(_time(lambda: home_timeline(reader, Cursor())).process for _round in range(PAGES))


def _rebuilds() -> list[Line]:
    """Home cache and inbox of two readers with different numbers of followees; the outboxes are warm."""
    ids = list(User.objects.filter(handle__startswith="unitauthor").values_list("pk", flat=True))
    make_follower("unitfew", ids[:1])
    readers = {1: user_by_handle("unitfew"), AUTHORS: user_by_handle("unitreader")}
    taken = {number: _rebuild(reader.pk) for number, reader in readers.items()}
    each = _each(taken[AUTHORS], taken[1], AUTHORS - 1)
    return [
        _line("a rebuild of home and inbox", "us", taken[1]),
        _line("one more followee in a rebuild", "us", each),
    ]


def _rebuild(reader_id: int) -> Taken:
    def once() -> None:
        HOME.drop(reader_id)
        INBOX.drop(reader_id)
        if not (rebuild_home(reader_id) and rebuild_inbox(reader_id)):
            raise RuntimeError("there is no window")

    return _least([_time(once) for _round in range(PAGES)])
