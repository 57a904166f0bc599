"""Exact rate limits: a fixed window counted by one script in Redis, so that processes cannot race past it."""

import hashlib
import math
from dataclasses import dataclass

from apps.caches.redisclients import call, trip
from apps.caches.servers import RedisError, limits

_COUNT = """
local used = redis.call('INCRBY', KEYS[1], ARGV[1])
if used == tonumber(ARGV[1]) then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return {used, redis.call('PTTL', KEYS[1])}
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one more is allowed, how many more after it, and in how many seconds the window begins anew."""

    allowed: bool
    remaining: int
    resets_in: float

    @property
    def retry_after(self) -> int:
        """When to come back, in whole seconds; of meaning when it is not allowed."""
        return max(math.ceil(self.resets_in), 1)


def count(name: str, subject: str, *, limit: int, seconds: int, cost: int = 1) -> Verdict:
    """Count `cost` against a limit of `limit` per `seconds` for a subject, and say whether it still fits.

    Cost 0 only looks. When Redis is down it is allowed: a limit protects, it is not an authorization.
    """
    key = f"limit:{name}:{hashlib.blake2b(subject.encode(), digest_size=12).hexdigest()}"
    try:
        used, milliseconds = trip(limits(), [call(_COUNT, [key], [cost, seconds])])[0]
    except RedisError:
        return Verdict(allowed=True, remaining=limit, resets_in=seconds)
    allowed = used <= limit if cost else used < limit
    return Verdict(allowed, remaining=max(limit - used, 0), resets_in=max(milliseconds, 0) / 1000)
