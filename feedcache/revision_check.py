"""Whether what the tiers of Memcached hold may be believed without asking PostgreSQL.

A write is acknowledged when every node has it, or when Redis holds that a node missed it (`generations`). A process hears
of the latter within a second, which is too late for whoever must not see what was deleted a moment ago. So a page reads
both the generations and the version of the topology, in the same round trip as its ids: what a node answers is believed
only if it may be read by what Redis said after the request began.
"""

import json
from functools import lru_cache

from feedcache.batch import Batch, Later
from feedcache.memcached import generations, topology_listener
from feedcache.redis_servers.connections import RedisError, configured_topology, timelines


def ask_revisions(trip: Batch) -> Later[bool]:
    """Whether Memcached may be believed, this trip's own entries included; False without it, or without Redis."""
    commands = [("HGETALL", generations.KEY), ("GET", topology_listener.KEY)]
    answers = trip.answers(timelines(), commands)

    def is_fresh() -> bool:
        try:
            lowest, text = answers()
        except RedisError:
            return False
        known = generations.parse(lowest)
        for node in trip.cache.nodes():
            node.suspicion.learn(known.get(node.name, 0))
        same = trip.cache.topology.version == _version_of(text)
        return same and trip.cache.is_configured and trip.is_current

    return is_fresh


@lru_cache(maxsize=4)
def _version_of(text: bytes | None) -> int:
    """The version of a topology as it was published; that of the settings when none was."""
    try:
        return int(json.loads(text)["version"]) if text else configured_topology().version
    except (ValueError, KeyError, TypeError):
        return -1
