"""Deletes all keys of one class of data in Redis; they are rebuilt from PostgreSQL when they are next read.

Memcached does not need this, because its keys contain the epoch of their class of data. Keys are scanned a thousand at
a time and freed in the background, so that no client waits. Counts of reads that are not yet in PostgreSQL are lost.
"""

from itertools import islice
from typing import Any

from feedcache.connections import Redis, client_at, written

BATCH_SIZE = 1000

# For each class of data: its servers, and every prefix that an app or a structure gives to its keys there.
PATTERNS: dict[str, list[tuple[str, str]]] = {
    "content": [("timelines", "week:*")],
    "outbox": [],
    "inbox": [("timelines", "inbox:*"), ("timelines", "home:*")],
    "graph": [("graph", "rel:*")],
    "existence": [("existence", "phantom:*")],
    "counters": [("counters", "c{*}:*")],
}
# Keys that would be outdated if their class moved to another server and came back.
OUTDATED = {"timelines": ["home:*", "inbox:*", "square:*", "policies:*"]}

# Other keys that would be wrong after the database was restored to an earlier state: tombstones, precomputed scores.
DERIVED = [("timelines", "gone:*"), ("timelines", "rt:*")]


def delete_everything() -> int:
    """Delete all keys that are derived from PostgreSQL; returns their number. After a RedisError, call it again."""
    patterns = {pattern for patterns in PATTERNS.values() for pattern in patterns} | set(DERIVED)
    patterns |= {(role, pattern) for role, found in OUTDATED.items() for pattern in found}
    return sum(
        _delete(client, pattern) for role, pattern in sorted(patterns) for client in written(role)
    )


def delete_keys(name: str) -> int:
    """Delete the keys of a class of data; returns their number. After a RedisError, some may be left: call it again."""
    return sum(
        _delete(client, pattern) for role, pattern in PATTERNS[name] for client in written(role)
    )


def outdated_keys(name: str, url: str) -> int:
    """The number of keys on a server that a class of data would wrongly use if it moved there. Raises RedisError."""
    client: Any = client_at(name, url)
    return sum(
        1
        for pattern in OUTDATED.get(name, ())
        for _key in client.scan_iter(match=pattern, count=BATCH_SIZE)
    )


def delete_outdated(name: str, url: str) -> int:
    """Delete the outdated keys on a server that a class of data has left; returns their number. Raises RedisError."""
    client: Redis = client_at(name, url)
    return sum(_delete(client, pattern) for pattern in OUTDATED.get(name, ()))


def _delete(client: Any, pattern: str) -> int:
    keys, deleted = client.scan_iter(match=pattern, count=BATCH_SIZE), 0
    while batch := list(islice(keys, BATCH_SIZE)):
        pipeline = client.pipeline(transaction=False)
        for key in batch:
            # a command for each key, because the keys of a cluster are in different slots
            pipeline.unlink(key)
        deleted += sum(pipeline.execute())
    return deleted
