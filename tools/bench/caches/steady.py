"""A steady mix of reads and writes on the demo site, 100 to 1: how often the caches answer (source 000: 99%)."""

import random
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from rest_framework.test import APIClient

from apps.accounts.actions import issue_token
from apps.accounts.models import User
from apps.posts.models import Post, Visibility
from feedcache import stats
from feedcache.connections import configured_topology
from feedcache.memcached_tiers import use_topology
from feedcache.topology import Node, Topology
from tools.bench.measure import Spread
from tools.bench.population import deliver_owed
from tools.bench.report import Line
from tools.bench.servers import memcached_nodes

LABELS = [
    "bench-site-main-1",
    "bench-site-main-2",
    "bench-site-backup",
    *(f"bench-site-l1-{n}" for n in range(1, 5)),
]
READERS, WARM, REQUESTS, READS_PER_WRITE = 40, 3000, 6000, 100
BAR = 0.99


def run(directory: Path) -> list[Line]:
    """Hit rate per cache class after a warm-up, through the site's own API."""
    call_command("seed_demo", "--size", "small", verbosity=0)
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    with memcached_nodes(directory, LABELS) as servers:
        nodes = [Node(server.name, f"unix:{server.socket}", 64) for server in servers]
        l1 = tuple((node,) for node in nodes[3:])
        # with the version that is in Redis: another one would be ignored
        version = configured_topology().version
        use_topology(Topology(version, tuple(nodes[:2]), (nodes[2],), l1))
        crowd, chance = _crowd(), random.Random(11)
        _play(crowd, chance, WARM)
        stats.drain()
        _play(crowd, chance, REQUESTS)
        counts = stats.drain()
    return lines_of(counts)


def _crowd() -> list[APIClient]:
    crowd = []
    for user in User.objects.filter(suspended_at=None).order_by("-counts__following")[:READERS]:
        program = APIClient()
        program.credentials(HTTP_AUTHORIZATION=f"Bearer {issue_token(user, name='bench')}")
        crowd.append(program)
    return crowd


def _play(crowd: list[APIClient], chance: random.Random, requests: int) -> None:
    authors = list(User.objects.filter(counts__posts__gt=0).values_list("pk", flat=True)[:200])
    posts = list(Post.objects.filter(deleted_at=None, visibility=Visibility.PUBLIC)[:500])
    for number in range(requests):
        who = crowd[min(int(chance.paretovariate(1)) - 1, len(crowd) - 1)]
        if number % READS_PER_WRITE == 0:
            _write(who, chance, posts)
            continue
        place = chance.choices(
            [
                "timelines/home",
                f"accounts/{chance.choice(authors)}/statuses",
                f"statuses/{chance.choice(posts).pk}",
                "timelines/public",
            ],
            weights=[70, 15, 10, 5],
        )[0]
        _expect(who.get(f"/api/v1/{place}").status_code)


def _write(who: APIClient, chance: random.Random, posts: list[Post]) -> None:
    act = chance.choice(["post", "like", "like"])
    if act == "post":
        _expect(who.post("/api/v1/statuses", {"status": f"At {chance.random():.6f}."}).status_code)
    else:
        _expect(who.post(f"/api/v1/statuses/{chance.choice(posts).pk}/favourite").status_code)
    deliver_owed()


def _expect(status: int) -> None:
    if status != 200:
        raise RuntimeError(f"a request was answered with {status}")


def lines_of(counts: stats.Counts) -> list[Line]:
    """The hit rate of all classes of data together, and of each class."""
    # other subjects have names of two parts: "tier:l1", "call:redis graph", "requests:core"
    classes = sorted({subject for subject, _outcome in counts if ":" not in subject})
    rates = {name: stats.hit_rate(counts, name) or 0.0 for name in classes}
    asked = sum(number for (subject, _outcome), number in counts.items() if subject in classes)
    answered = sum(
        number
        for (subject, outcome), number in counts.items()
        if subject in classes and outcome in {stats.HIT, stats.NEGATIVE}
    )
    total = answered / asked if asked else 0.0
    return [
        Line(
            f"steady load, {READS_PER_WRITE}:1 reads to writes, {REQUESTS:,} requests: hit rate",
            "%",
            Spread.exact(100 * total),
            {name: Spread.exact(100 * rate) for name, rate in rates.items()},
            f"at least {100 * BAR:.0f}%",
            total >= BAR,
            f"of {asked:,} requested keys; the third column has the hit rate of each class",
        )
    ]
