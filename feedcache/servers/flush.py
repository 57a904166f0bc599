"""Delete all keys that Redis holds of one class of data; they are rebuilt from PostgreSQL when next read.

Memcached needs no such thing: its keys contain the epoch of their class. Keys are scanned a thousand at a time and
freed in the background, so that no client waits. Counted reads that were not yet written to PostgreSQL are lost.
"""

from itertools import islice
from typing import Any

from feedcache.connections import Redis, client_at, written

BATCH_SIZE = 1000

# Every prefix that an app or a structure gives its keys in Redis, by class, after the servers that have them.
PATTERNS: dict[str, list[tuple[str, str]]] = {
    "content": [("timelines", "week:*")],
    "outbox": [],
    "inbox": [("timelines", "inbox:*"), ("timelines", "home:*")],
    "graph": [("graph", "rel:*")],
    "existence": [("existence", "phantom:*")],
    "counters": [("counters", "c{*}:*")],
}
# What would be wrong if it were read again after its class had moved away and come back: nobody brought it up to date.
OUTDATED = {"timelines": ["home:*", "inbox:*", "square:*", "policies:*"]}

# What else would be wrong after the database went back: marks of deleted posts, prepared scores.
DERIVED = [("timelines", "gone:*"), ("timelines", "rt:*")]


def delete_everything() -> int:
    """Delete all keys that were derived from PostgreSQL; how many. RedisError may leave some; again is safe."""
    patterns = {pattern for patterns in PATTERNS.values() for pattern in patterns} | set(DERIVED)
    patterns |= {(role, pattern) for role, found in OUTDATED.items() for pattern in found}
    return sum(
        _delete(client, pattern) for role, pattern in sorted(patterns) for client in written(role)
    )


def delete_keys(name: str) -> int:
    """Delete the keys of a class; how many. RedisError may leave some of them; deleting again is safe."""
    return sum(
        _delete(client, pattern) for role, pattern in PATTERNS[name] for client in written(role)
    )


def outdated_keys(name: str, url: str) -> int:
    """How many keys a server has that a class of data which moves there would take for its own. RedisError."""
    client: Any = client_at(name, url)
    return sum(
        1
        for pattern in OUTDATED.get(name, ())
        for _key in client.scan_iter(match=pattern, count=BATCH_SIZE)
    )


def delete_outdated(name: str, url: str) -> int:
    """Delete these keys where a class of data was; how many. RedisError."""
    client: Redis = client_at(name, url)
    return sum(_delete(client, pattern) for pattern in OUTDATED.get(name, ()))


def _delete(client: Any, pattern: str) -> int:
    keys, deleted = client.scan_iter(match=pattern, count=BATCH_SIZE), 0
    while batch := list(islice(keys, BATCH_SIZE)):
        pipeline = client.pipeline(transaction=False)
        for key in batch:
            pipeline.unlink(key)  # one command a key: any slot of a cluster
        deleted += sum(pipeline.execute())
    return deleted
