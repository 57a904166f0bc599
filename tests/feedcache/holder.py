"""A process that asks for a key: `python holder.py TOPOLOGY KEY SECONDS`, where loading takes so long.

It says "ready", waits for a line, and says "loading" when it loads.
"""

import sys
import time

import django

django.setup()

from feedcache.memcached_tiers import use_topology
from feedcache.read_through import ReadThrough
from feedcache.topology import Topology

use_topology(Topology.from_json(sys.argv[1]))
kind = ReadThrough("crowd", 1, 60, str, bytes, bytes)


def load(keys):
    print("loading", flush=True)  # noqa: T201 -- what the test waits for
    time.sleep(float(sys.argv[3]))
    return dict.fromkeys(keys, b"loaded")


print("ready", flush=True)  # noqa: T201 -- what the test waits for
sys.stdin.readline()
kind.get_many([sys.argv[2]], load)
