"""Reads of relations from replicas (sources 000, 002: one master, several slaves).

A replica may lag behind, hang or be gone. What is read there carries a fence, the revision it was made from: a lagging
replica is a miss for whoever knows the newer revision, so one's own follow is seen at once. Then the primary is asked,
and after it the database. Writes, and moving a time to live, belong to the primary.
"""

import random
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from apps.caches.breaker import Breaker
from apps.caches.servers import Redis, RedisError, graph, graph_replicas

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


def read_graph(read: Callable[[Redis], T | None]) -> T | None:
    """What a fenced read finds on a replica, else on the primary; None is a miss. RedisError is the primary's."""
    reader = graph_reader()
    if reader is not graph():
        try:
            found = read(reader)
        except RedisError:
            _breaker(reader).fail()
        else:
            _breaker(reader).succeed()
            if found is not None:
                return found
    return read(graph())
