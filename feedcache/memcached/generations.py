"""Which memory of a Memcached node may still be read, as all processes know it through Redis.

A node that missed a write may hold older values than the other layers. Whoever noticed raises the node's lowest
readable generation here; the others learn it within a second and read nothing below it. See `nodes`.
"""

import time
from typing import Any

from feedcache.redis_servers.connections import Redis, RedisError, script, timelines

KEY = "memcached:generations"  # address and place -> lowest generation that may be read
QUIET_SECONDS = 2.0  # after Redis failed: no write waits for it again so soon

# KEYS: the hash. ARGV: node, at least this. Never the same number twice, even when Redis has forgotten the last one.
_RAISE = """
local have = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0') or 0
local new = string.format('%.0f', math.max(have + 1, tonumber(ARGV[2])))
redis.call('HSET', KEYS[1], ARGV[1], new)
return new
"""


class _Unreachable:
    until = 0.0


_quiet = _Unreachable()


def raise_lowest(node: str, *, at_least: int, by: Redis | None = None) -> int | None:
    """Nothing of a node below the returned generation may be read any more; None when Redis does not answer.

    `by` a client of its own it is asked in any case: its caller has the time.
    """
    if by is None and time.monotonic() < _quiet.until:
        return None
    try:
        raised: Any = script(by or timelines(), _RAISE)(keys=[KEY], args=[node, at_least])
        return int(raised)
    except (RedisError, ValueError):
        _quiet.until = time.monotonic() + QUIET_SECONDS
        return None


def lowest(*, by: Redis) -> dict[str, int]:
    """The lowest readable generation of every node that has one. RedisError is the caller's."""
    return parse(by.hgetall(KEY))


def parse(found: Any) -> dict[str, int]:
    """What the hash holds."""
    return {name.decode(): int(number) for name, number in found.items() if number.isdigit()}
