"""Delete all keys that Redis holds of one class of data; they are rebuilt from PostgreSQL when next read.

Memcached needs no such thing: its keys contain the epoch of their class. Keys are scanned a thousand at a time and
freed in the background, so that no client waits. Counted reads that were not yet written to PostgreSQL are lost.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any

from feedcache.redis_servers.connections import counters, existence, graph, timelines

BATCH_SIZE = 1000

# Every prefix that an app or a structure gives its keys in Redis, by class.
PATTERNS: dict[str, list[tuple[Callable[[], Any], str]]] = {
    "content": [(timelines, "week:*")],
    "outbox": [],
    "inbox": [(timelines, "inbox:*"), (timelines, "home:*")],
    "graph": [(graph, "rel:*")],
    "existence": [(existence, "phantom:*")],
    "counters": [(counters, "c{*}:*")],
}


def delete_keys(name: str) -> int:
    """Delete the keys of a class; how many. RedisError may leave some of them; deleting again is safe."""
    return sum(_delete(client(), pattern) for client, pattern in PATTERNS[name])


def _delete(client: Any, pattern: str) -> int:
    keys, deleted = client.scan_iter(match=pattern, count=BATCH_SIZE), 0
    while batch := list(islice(keys, BATCH_SIZE)):
        pipeline = client.pipeline(transaction=False)
        for key in batch:
            pipeline.unlink(key)  # one command a key: any slot of a cluster
        deleted += sum(pipeline.execute())
    return deleted
