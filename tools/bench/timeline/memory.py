"""Bytes of Redis per entry of a full home window (source 001: a sorted set, member the post, score the time)."""

from pathlib import Path
from typing import Any

from apps.timeline.sources.home_cache import HOME
from feedcache.connections import timelines
from feedcache.ids import compose, second_of
from tools.bench.measure import Spread
from tools.bench.report import Line

READER, BEGIN, SECONDS_APART = 1, 1_790_000_000, 37
MOST_BYTES = 17.0
LISTPACK, REDIS_DEFAULT = "zset-max-listpack-entries", 128


def run(_directory: Path) -> list[Line]:
    """Our window, the same window as a skiplist, and ids scored by time, which is the obvious first version."""
    client: Any = timelines()
    ids = sorted((_post(number) for number in range(HOME.length)), reverse=True)
    HOME.swap(READER, HOME.begin(READER) or "", ids, complete=False)
    ours = _bytes_each(client, HOME.key(READER))
    allowed = client.config_get(LISTPACK)[LISTPACK]
    client.zadd("bench:scored", {str(one): second_of(one) for one in ids})
    others = {"a sorted set scored by time, in a listpack": _bytes_each(client, "bench:scored")}
    client.zadd("bench:sorted", dict.fromkeys(client.lrange(HOME.key(READER), 0, -1), 0))
    others["a sorted set without scores, in a listpack"] = _bytes_each(client, "bench:sorted")
    client.config_set(LISTPACK, REDIS_DEFAULT)
    client.zunionstore("bench:skiplist", ["bench:sorted"])
    client.zunionstore("bench:scored-skiplist", ["bench:scored"])
    others["the set without scores, as a skiplist (as by default above 128 entries)"] = _bytes_each(
        client, "bench:skiplist"
    )
    others["the set scored by time, as a skiplist"] = _bytes_each(client, "bench:scored-skiplist")
    client.config_set(LISTPACK, allowed)
    client.unlink("bench:scored", "bench:sorted", "bench:skiplist", "bench:scored-skiplist")
    HOME.drop(READER)
    return [
        Line(
            f"memory per entry, in home caches of {HOME.length} entries",
            "bytes",
            ours,
            others,
            f"at most {MOST_BYTES:.0f}",
            ours.median <= MOST_BYTES,
        )
    ]


def _post(number: int) -> int:
    return compose(BEGIN + number * SECONDS_APART, author_id=5 + number % 300, sequence=0)


def _bytes_each(client: Any, key: str) -> Spread:
    members = client.llen(key) if client.type(key) == b"list" else client.zcard(key)
    return Spread.exact(client.memory_usage(key, samples=0) / members)
