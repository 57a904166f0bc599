"""Deletes keys in Redis that can be rebuilt from PostgreSQL.

Memcached does not need this, because its keys contain the epoch of their class of data. Keys are scanned a thousand at
a time and freed in the background, so that no client waits. Increments of counters that were not yet written to
PostgreSQL are lost, and so are marks without rows (`structures.bloom`).
"""

from itertools import islice
from typing import Any

from feedcache.connections import Redis, client_at, written

BATCH_SIZE = 1000

# For each of `topology.CLASSES`: the servers (by role) and the patterns of its keys there.
PATTERNS: dict[str, list[tuple[str, str]]] = {
    "content": [("timelines", "week:*")],
    "outbox": [],
    "inbox": [("timelines", "inbox:*"), ("timelines", "home:*")],
    "graph": [("graph", "rel:*")],
    "existence": [("existence", "phantom:*")],
    "counters": [("counters", "c{*}:*")],
}
# For some of `topology.TENANTS`: keys that would be outdated if the tenant's data moved to another server and back.
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
    """Delete the keys of one of `PATTERNS`; returns how many. After a RedisError, some may be left: call it again."""
    return sum(
        _delete(client, pattern) for role, pattern in PATTERNS[name] for client in written(role)
    )


def outdated_keys(name: str, url: str) -> int:
    """The number of outdated keys that one of `TENANTS` would find on a server if it moved there. Raises RedisError."""
    client: Any = client_at(name, url)
    return sum(
        1
        for pattern in OUTDATED.get(name, ())
        for _key in client.scan_iter(match=pattern, count=BATCH_SIZE)
    )


def delete_outdated(name: str, url: str) -> int:
    """Delete the `OUTDATED` keys on a server that one of `TENANTS` has left; returns how many. Raises RedisError."""
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
