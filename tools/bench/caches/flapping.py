"""A node that dies, misses writes, and returns: which values are read afterwards (source 002; S39)."""

import random
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pymemcache.client.hash import HashClient
from pymemcache.exceptions import MemcacheError

from feedcache.memcached_tiers import tiers, use_topology
from feedcache.topology import Node, Topology
from runner.services.memcached import Memcached
from tools.bench.measure import Spread
from tools.bench.report import Line
from tools.bench.servers import memcached_nodes

KEYS, FLAPS, WRITTEN = 3000, 100, 100
TTL_SECONDS = 3600


class Cache(Protocol):
    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]: ...

    def set_many(self, values: Mapping[str, bytes]) -> object: ...


class _Ours:
    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        return {
            key: value
            for start in range(0, len(keys), 1000)
            for key, value in tiers().get_many(keys[start : start + 1000]).items()
        }

    def set_many(self, values: Mapping[str, bytes]) -> object:
        for start in range(0, len(values), 1000):
            part = dict(list(values.items())[start : start + 1000])
            tiers().set_many(part, ttl_seconds=TTL_SECONDS)
        return None


class _HashClient:
    def __init__(self, addresses: Sequence[str]) -> None:
        self.client = HashClient(
            addresses, use_pooling=True, timeout=0.05, connect_timeout=0.05, ignore_exc=True,
            retry_attempts=0, dead_timeout=0.01,
        )  # fmt: skip

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        return dict(self.client.get_many(keys))

    def set_many(self, values: Mapping[str, bytes]) -> object:
        try:
            return self.client.set_many(values, noreply=False)
        except (MemcacheError, OSError):
            return None


def run(directory: Path) -> list[Line]:
    """Stale reads and loads over 100 flaps: alternately a kill -9 and a freeze, which keeps the node's old memory."""
    labels = [f"bench-flap-{n}" for n in range(4)]
    with memcached_nodes(directory, labels) as servers:
        main, backup = servers[:3], servers[3]
        nodes = [Node(server.name, f"unix:{server.socket}", 64) for server in servers]
        use_topology(Topology(2, tuple(nodes[:3]), (nodes[3],)))
        stale, misses = _flap(_Ours(), main)
        for server in servers:
            server.stop()
            server.start()
        others = [str(server.socket) for server in (*main, backup)]
        hash_stale, hash_misses = _flap(_HashClient(others[:3]), main)
    read = KEYS * FLAPS * 2
    return [
        Line(
            f"{FLAPS} node flaps, {KEYS:,} keys: stale reads, out of {read:,}",
            "reads",
            Spread.exact(stale),
            {"HashClient": Spread.exact(hash_stale)},
            "0",
            stale == 0,
        ),
        Line(
            f"{FLAPS} node flaps, {KEYS:,} keys: reads that found nothing and needed PostgreSQL",
            "reads",
            Spread.exact(misses),
            {"HashClient": Spread.exact(hash_misses)},
        ),
    ]


def _flap(cache: Cache, servers: Sequence[Memcached]) -> tuple[int, int]:
    chance = random.Random(7)
    truth = {f"flap:{n}": b"%d:0" % n for n in range(KEYS)}
    cache.set_many(truth)
    stale = misses = 0
    for flap in range(FLAPS):
        server = servers[flap % len(servers)]
        _take_away(server, frozen=flap % 2 == 1)
        changed = {
            key: b"%s:%d" % (key.encode(), flap) for key in chance.sample(list(truth), WRITTEN)
        }
        truth |= changed
        cache.set_many(changed)
        first = _read(cache, truth)
        _bring_back(server, frozen=flap % 2 == 1)
        second = _read(cache, truth)
        stale, misses = stale + first[0] + second[0], misses + first[1] + second[1]
    return stale, misses


def _take_away(server: Memcached, *, frozen: bool) -> None:
    if server.child is None:
        raise RuntimeError(f"{server.name} is not running")
    if frozen:
        server.child.popen.send_signal(signal.SIGSTOP)
    else:
        server.child.kill()


def _bring_back(server: Memcached, *, frozen: bool) -> None:
    if frozen and server.child is not None:
        server.child.popen.send_signal(signal.SIGCONT)
    else:
        server.stop()
        server.start()


def _read(cache: Cache, truth: dict[str, bytes]) -> tuple[int, int]:
    """The numbers of stale values and of misses; missing values are loaded and stored, as a reader does."""
    found = cache.get_many(list(truth))
    stale = sum(value != truth[key] for key, value in found.items())
    missing = {key: value for key, value in truth.items() if key not in found}
    cache.set_many(missing)
    return stale, len(missing)
