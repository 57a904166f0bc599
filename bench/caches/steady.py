"""A steady mix of reads and writes on the demo site, 100 to 1: how often the caches answer (source 000: 99%)."""

import random
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from rest_framework.test import APIClient

from apps.accounts.actions import issue_token
from apps.accounts.models import User
from apps.caches import stats
from apps.caches.tiers import use_topology
from apps.caches.topology import Node, Topology
from apps.events import actions as events
from apps.posts.models import Post, Visibility
from apps.timeline import fanout
from bench.measure import Spread
from bench.report import Line
from bench.servers import memcached_nodes

LABELS = ["bench-site-main-1", "bench-site-main-2", "bench-site-backup", *(f"bench-site-l1-{n}" for n in range(1, 5))]
READERS, WARM, REQUESTS, READS_PER_WRITE = 40, 3000, 6000, 100
BAR = 0.99


def run(directory: Path) -> list[Line]:
    """Hit rate per cache class after a warm-up, through the site's own API."""
    call_command("seed_demo", "--size", "small", verbosity=0)
    with memcached_nodes(directory, LABELS) as servers:
        nodes = [Node(server.name, f"unix:{server.socket}", 64) for server in servers]
        l1 = tuple((node,) for node in nodes[3:])
        use_topology(Topology(4, tuple(nodes[:2]), (nodes[2],), l1))
        crowd = _crowd()
        chance = random.Random(11)
        _play(crowd, chance, WARM)
        stats.drain()
        _play(crowd, chance, REQUESTS)
        counts = stats.drain()
    return [*_lines(counts)]
