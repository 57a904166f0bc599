"""A process that begins to load a key and never ends: `python holder.py TOPOLOGY KEY`. It says when it loads."""

import sys
import time

import django

django.setup()

from apps.caches.readthrough import ReadThrough
from apps.caches.tiers import use_topology
from apps.caches.topology import Topology

use_topology(Topology.from_json(sys.argv[1]))
kind = ReadThrough("crowd", 1, 60, str, bytes, bytes)


def load(keys):
    print("loading", flush=True)  # noqa: T201 -- the parent waits for it
    time.sleep(float(sys.argv[3]))
    return dict.fromkeys(keys, b"loaded")


kind.get_many([sys.argv[2]], load)
