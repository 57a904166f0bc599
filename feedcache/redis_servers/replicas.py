"""Reads of relations from replicas (sources 000, 002: one master, several slaves).

A replica may lag behind, hang or be gone. What is read there carries a fence, the revision it was made from: a lagging
replica is a miss for whoever knows the newer revision, so one's own follow is seen at once. Then the primary is asked,
and after it the database. Writes, and moving a time to live, belong to the primary.
"""

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import TypeVar

from feedcache.redis_servers.breaker import Breaker
from feedcache.redis_servers.clients import trip
from feedcache.redis_servers.connections import Redis, RedisError, graph, graph_replicas

SLIDE_EVERY = 16  # one read of a replica in so many moves the times to live at the primary

T = TypeVar("T")


@cache
def _breaker(_replica: Redis) -> Breaker:
    return Breaker()


def graph_reader() -> Redis:
    """A replica that answers, as far as is known; else the primary."""
    replicas = graph_replicas()
    for replica in random.sample(replicas, len(replicas)):
        if _breaker(replica).allows():
            return replica
    return graph()


def read_graph(
    read: Callable[[Redis], T | None], *, keys: Sequence[str] = (), ttl_seconds: int = 0
) -> T | None:
    """What a fenced read finds on a replica, else on the primary; None is a miss. RedisError is the primary's.

    A read of the primary slides the life of its keys itself; for one of a replica that is done here, now and then.
    """
    reader = graph_reader()
    if reader is not graph():
        found = _read_replica(reader, read)
        if found is not None:
            if keys and random.randrange(SLIDE_EVERY) == 0:  # noqa: S311 -- not a secret
                _slide(keys, ttl_seconds)
            return found
    return read(graph())


def _read_replica(replica: Redis, read: Callable[[Redis], T | None]) -> T | None:
    try:
        found = read(replica)
    except RedisError:
        _breaker(replica).fail()
        return None
    _breaker(replica).succeed()
    return found


def _slide(keys: Sequence[str], ttl_seconds: int) -> None:
    with suppress(RedisError):  # it was read; what runs out is loaded again
        trip(graph(), [("EXPIRE", key, ttl_seconds) for key in keys])
