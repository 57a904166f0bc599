"""Forget what Redis holds of one class of data; whoever asks for it next makes it anew from PostgreSQL.

What lies in Memcached needs no such thing: its keys carry the epoch of their class. Walks through the keys a thousand at
a time and frees them in the background, so nobody waits. Reads that were counted and not yet written back are lost.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any

from feedcache.redis_servers.connections import counters, existence, graph, timelines

BATCH = 1000

# Every prefix that an app or a structure gives its keys in Redis, by class.
PATTERNS: dict[str, list[tuple[Callable[[], Any], str]]] = {
    "content": [(timelines, "week:*")],
    "outbox": [],
    "inbox": [(timelines, "inbox:*"), (timelines, "home:*")],
    "graph": [(graph, "rel:*")],
    "existence": [(existence, "phantom:*")],
    "counters": [(counters, "c{*}:*")],
}


def forget(name: str) -> int:
    """Drop the keys of a class; how many. RedisError is the caller's: then some are left, and may be dropped again."""
    return sum(_drop(client(), pattern) for client, pattern in PATTERNS[name])


def _drop(client: Any, pattern: str) -> int:
    keys, dropped = client.scan_iter(match=pattern, count=BATCH), 0
    while batch := list(islice(keys, BATCH)):
        pipeline = client.pipeline(transaction=False)
        for key in batch:
            pipeline.unlink(key)  # one command a key: any slot of a cluster
        dropped += sum(pipeline.execute())
    return dropped
