"""Whether values from Memcached are current, without asking PostgreSQL.

A write is acknowledged when every node has it, or when Redis knows that a node missed it (`generations`). Other
processes learn of the latter within a second: too late for a reader who must not see a post that was just deleted. So
a page reads the generations and the version of the topology in the same round trip as its ids; values of a node count
only if what Redis returned after the request began still allows reading them.
"""

import json
from functools import lru_cache

from feedcache.batch import Batch, Future
from feedcache.memcached import generations, topology_listener
from feedcache.redis_servers.connections import RedisError, configured_topology, timelines


def queue_revision_check(batch: Batch) -> Future[bool]:
    """Whether Memcached is current, including the values of this batch; False without Memcached or Redis."""
    commands = [("HGETALL", generations.KEY), ("GET", topology_listener.KEY)]
    answers = batch.commands(timelines(), commands)

    def is_fresh() -> bool:
        try:
            fields, text = answers()
        except RedisError:
            return False
        lowest = generations.parse(fields)
        for node in batch.cache.nodes():
            node.health.learn(lowest.get(node.name, 0))
        is_same_topology = batch.cache.topology.version == _version_of(text)
        return is_same_topology and batch.cache.is_configured and batch.is_current

    return is_fresh


@lru_cache(maxsize=4)
def _version_of(text: bytes | None) -> int:
    """The version of a published topology; that of the settings when none is published; -1 for garbage."""
    try:
        return int(json.loads(text)["version"]) if text else configured_topology().version
    except (ValueError, KeyError, TypeError):
        return -1
