"""Which generation of a Memcached node's memory may still be read: announced to all processes through Redis.

A node that missed a write may hold older values than the other layers. The process that noticed raises the node's
lowest readable generation here; the others learn of it within a second and read nothing below. See `node`.
"""

import time
from typing import Any

from feedcache.redis_servers.connections import Redis, RedisError, script, timelines

KEY = "memcached:generations"  # name of a node -> lowest generation that may be read
RETRY_SECONDS = 2.0  # after Redis failed: until then no write waits for it again

# KEYS: the hash. ARGV: node, minimum. Never the same number twice, even when Redis has lost the last one.
_RAISE = """
local have = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0') or 0
local new = string.format('%.0f', math.max(have + 1, tonumber(ARGV[2])))
redis.call('HSET', KEYS[1], ARGV[1], new)
return new
"""


class _RedisPause:
    until = 0.0


_pause = _RedisPause()


def raise_lowest(node: str, *, at_least: int, by: Redis | None = None) -> int | None:
    """The new lowest readable generation of a node; None when Redis does not answer.

    A client passed as `by` is asked even shortly after a failure: its caller can wait.
    """
    if by is None and time.monotonic() < _pause.until:
        return None
    try:
        raised: Any = script(by or timelines(), _RAISE)(keys=[KEY], args=[node, at_least])
        return int(raised)
    except (RedisError, ValueError):
        _pause.until = time.monotonic() + RETRY_SECONDS
        return None


def lowest(*, by: Redis) -> dict[str, int]:
    """The lowest readable generations, by name of node. Raises RedisError."""
    return parse(by.hgetall(KEY))


def parse(fields: Any) -> dict[str, int]:
    return {name.decode(): int(number) for name, number in fields.items() if number.isdigit()}
