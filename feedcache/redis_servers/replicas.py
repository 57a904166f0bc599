"""Reads of relations from replicas (sources 000, 002: one master, several slaves).

A replica may lag behind, hang or be gone. Its data carries the revision it was made from: a lagging replica is a miss
for a reader who knows the newer revision, so people see their own follow at once. After a miss the primary is read,
then the database. Writes and EXPIRE go to the primary only.
"""

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import TypeVar

from feedcache.redis_servers.breaker import Breaker
from feedcache.redis_servers.clients import execute
from feedcache.redis_servers.connections import Redis, RedisError, graph, graph_replicas

EXPIRE_EVERY = 16  # one in so many reads of a replica extends the time to live on the primary

T = TypeVar("T")


@cache
def _breaker(_replica: Redis) -> Breaker:
    return Breaker()


def graph_reader() -> Redis:
    """A random replica whose breaker is closed; else the primary."""
    replicas = graph_replicas()
    for replica in random.sample(replicas, len(replicas)):
        if _breaker(replica).allows():
            return replica
    return graph()


def read_graph(
    read: Callable[[Redis], T | None], *, keys: Sequence[str] = (), ttl_seconds: int = 0
) -> T | None:
    """The result of `read` on a replica, else on the primary; None is a miss. Raises the RedisError of the primary.

    `read` extends the life of its `keys` on the primary itself; for a replica this function does it now and then.
    """
    reader = graph_reader()
    if reader is not graph():
        result = _read_replica(reader, read)
        if result is not None:
            if keys and random.randrange(EXPIRE_EVERY) == 0:  # noqa: S311 -- not a secret
                _expire(keys, ttl_seconds)
            return result
    return read(graph())


def _read_replica(replica: Redis, read: Callable[[Redis], T | None]) -> T | None:
    try:
        result = read(replica)
    except RedisError:
        _breaker(replica).fail()
        return None
    _breaker(replica).succeed()
    return result


def _expire(keys: Sequence[str], ttl_seconds: int) -> None:
    with suppress(RedisError):  # the read succeeded; an expired key is loaded again
        execute(graph(), [("EXPIRE", key, ttl_seconds) for key in keys])
