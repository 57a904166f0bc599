"""Many clients read one key just after it has expired (source 002: a hot post on a cold cache)."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Barrier

from django.test import override_settings

from feedcache.memcached_tiers import tiers, use_topology
from feedcache.read_through import ReadThrough
from feedcache.topology import Node, Topology
from tools.bench.measure import Spread
from tools.bench.report import Line
from tools.bench.servers import memcached_nodes

CLIENTS, LOAD_SECONDS, TTL_SECONDS = 200, 0.1, 3600
# The threads share an interpreter, so they may wait longer for each other than the site waits for a node.
PATIENCE_SECONDS = 1.0

HOT: ReadThrough[int, bytes] = ReadThrough(
    name="bench",
    version=1,
    ttl_seconds=TTL_SECONDS,
    key_of=str,
    encode=bytes,
    decode=bytes,
)


def run(directory: Path) -> list[Line]:
    """The number of loads, and the wait of the slowest client."""
    with (
        override_settings(MEMCACHED_TIMEOUT_SECONDS=PATIENCE_SECONDS),
        memcached_nodes(directory, ["bench-flight-main", "bench-flight-backup"]) as servers,
    ):
        nodes = [Node(server.name, f"unix:{server.socket}", 64) for server in servers]
        use_topology(Topology(3, (nodes[0],), (nodes[1],)))
        loads, slowest = _crowd(lambda load: HOT.get_many([1], load)[1])
        plain_loads, plain_slowest = _crowd(_plainly)
    return [
        Line(
            f"{CLIENTS} clients read one expired key, whose load takes 100 ms: how often it is loaded",
            "times",
            Spread.exact(loads),
            {"get, load, set": Spread.exact(plain_loads)},
            "1",
            loads == 1,
            f"slowest client {slowest * 1000:.0f} ms (plain: {plain_slowest * 1000:.0f} ms)",
        )
    ]


def _plainly(load: Callable[[list[int]], dict[int, bytes]]) -> bytes:
    found = tiers().get_many(["plain:1"])
    if "plain:1" in found:
        return found["plain:1"]
    value = load([1])[1]
    tiers().set_many({"plain:1": value}, ttl_seconds=TTL_SECONDS)
    return value


def _crowd(ask: Callable[[Callable[[list[int]], dict[int, bytes]]], bytes]) -> tuple[int, float]:
    gate, loads = Barrier(CLIENTS), count()

    def load(keys: list[int]) -> dict[int, bytes]:
        next(loads)
        time.sleep(LOAD_SECONDS)
        return dict.fromkeys(keys, b"x" * 1024)

    def client(_number: int) -> float:
        gate.wait()
        begin = time.perf_counter()
        if ask(load) != b"x" * 1024:
            raise RuntimeError("a client got another value than the loaded one")
        return time.perf_counter() - begin

    with ThreadPoolExecutor(CLIENTS) as pool:
        slowest = max(pool.map(client, range(CLIENTS)))
    return next(loads), slowest
