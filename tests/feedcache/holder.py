"""A process that asks for a key: `python holder.py TOPOLOGY KEY LEASE_SECONDS`.

It says "ready", waits for a line, says "loading" when it loads, and has loaded after another line.
"""

import sys

from feedcache import memcached_tiers, single_flight
from feedcache.memcached_tiers import use_topology
from feedcache.read_through import ReadThrough
from feedcache.topology import Topology
from tests.feedcache.alone import configure_from_environment

configure_from_environment()
use_topology(Topology.from_json(sys.argv[1]))
memcached_tiers.LEASE_SECONDS = int(sys.argv[3])
single_flight.WAIT_SECONDS = 60  # the test ends before
kind = ReadThrough("crowd", 1, 60, str, bytes, bytes)


def load(keys):
    print("loading", flush=True)  # noqa: T201 -- what the test waits for
    sys.stdin.readline()
    return dict.fromkeys(keys, b"loaded")


print("ready", flush=True)  # noqa: T201 -- what the test waits for
sys.stdin.readline()
kind.get_many([sys.argv[2]], load)
