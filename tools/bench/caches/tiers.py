"""Reads a page of bodies through the tiers, and with one plain client without layers or fault tolerance."""

from pathlib import Path

from pymemcache.client.base import PooledClient
from pymemcache.client.hash import HashClient

from feedcache.memcached_tiers import tiers, use_topology
from feedcache.topology import Node, Topology
from tools.bench.measure import compare, ratio
from tools.bench.report import Line
from tools.bench.servers import memcached_nodes

PAGE, BODY_BYTES, TTL_SECONDS = 20, 1024, 3600
BAR = 1.3
LABELS = ["bench-main-1", "bench-main-2", "bench-backup", *(f"bench-l1-{n}" for n in range(1, 5))]


def run(directory: Path) -> list[Line]:
    """`get_many` of 20 values of 1 KB that are in every L1 group."""
    values = {f"post:1:{1_700_000_000 + n}:1": bytes([n]) * BODY_BYTES for n in range(PAGE)}
    keys = list(values)
    with memcached_nodes(directory, LABELS) as servers:
        nodes = [Node(server.name, f"unix:{server.socket}", 64) for server in servers]
        use_topology(
            Topology(1, tuple(nodes[:2]), (nodes[2],), tuple((node,) for node in nodes[3:]))
        )
        addresses = [str(server.socket) for server in servers]
        bare = PooledClient(addresses[0], max_pool_size=32, timeout=1, no_delay=True)
        hashed = HashClient(addresses[:4], use_pooling=True, timeout=1)
        bare.set_many(values, noreply=False)
        hashed.set_many(values, noreply=False)
        tiers().set_many(values, ttl_seconds=TTL_SECONDS)
        while any(
            tiers().get_many(keys) != values for _try in range(50)
        ):  # until every group is filled
            pass
        found = compare(
            {
                "ours": lambda: tiers().get_many(keys),
                "one plain pooled client, one node": lambda: bare.get_many(keys),
                "HashClient over four nodes": lambda: hashed.get_many(keys),
            }
        )
    ours = found.pop("ours")
    times = ratio(ours, found["one plain pooled client, one node"])
    return [
        Line(
            "tiers: get_many of 20 x 1 KB, hit in L1",
            "us",
            ours,
            found,
            f"at most {BAR}x the plain client",
            times <= BAR,
            f"{times:.2f}x the plain client",
        )
    ]
