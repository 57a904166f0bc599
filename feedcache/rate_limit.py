"""Exact rate limits: a fixed window counted by one script in Redis, so that processes cannot race past it.

While Redis is away (dead, frozen, read-only, full) every process counts by itself with the same numbers, from what it last
heard of Redis on: closed, not open. The site then allows at most the limit times its processes.
"""

import hashlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from feedcache.redis_servers.clients import call, trip
from feedcache.redis_servers.connections import RedisError, limits

LOCAL_SUBJECTS_MAX = 20_000  # of one limit, remembered by a process
# What is given back goes no lower than nothing: else a window would begin with more room than it has.
_COUNT = """
local cost = tonumber(ARGV[1])
if cost < 0 then cost = math.max(cost, -tonumber(redis.call('GET', KEYS[1]) or 0)) end
local used = redis.call('INCRBY', KEYS[1], cost)
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return {used, redis.call('PTTL', KEYS[1])}
"""


@dataclass(frozen=True, slots=True)
class RateLimitResult:
    """Whether the request is allowed, how many more are, and in how many seconds the window ends."""

    allowed: bool
    remaining: int
    resets_in: float

    @property
    def retry_after(self) -> int:
        """In how many whole seconds to try again; meaningful when it was not allowed."""
        return max(math.ceil(self.resets_in), 1)


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `limit` per `seconds` for a subject. Limits of other names do not share their counts."""

    name: str
    subject: str
    limit: int
    seconds: int

    @property
    def key(self) -> str:
        """The key in Redis; holds nothing that can be read of the subject."""
        digest = hashlib.blake2b(self.subject.encode(), digest_size=12).hexdigest()
        return f"limit:{self.name}:{digest}"


class LocalWindows:
    """Windows counted inside this process. Thread-safe; of each limit only the latest subjects are remembered."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._ends: dict[str, OrderedDict[str, tuple[int, float]]] = {}

    def note(self, limit: Limit, used: int, resets_in: float) -> None:
        """Remember what Redis said last."""
        with self._lock:
            self._put(limit, used, self._clock() + resets_in)

    def count(self, limit: Limit, cost: int) -> tuple[int, float]:
        """Count `cost`: how much of the window is used, and in how many seconds it ends."""
        with self._lock:
            now = self._clock()
            windows = self._ends.get(limit.name)
            used, end = windows.get(limit.key, (0, 0.0)) if windows else (0, 0.0)
            if end <= now:
                used, end = 0, now + limit.seconds
            used = max(used + cost, 0)
            self._put(limit, used, end)
            return used, end - now

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._ends.clear()

    def _put(self, limit: Limit, used: int, end: float) -> None:
        windows = self._ends.setdefault(limit.name, OrderedDict())
        windows[limit.key] = (used, end)
        windows.move_to_end(limit.key)
        if len(windows) > LOCAL_SUBJECTS_MAX:
            windows.popitem(last=False)


local = LocalWindows()


def count_each(rate_limits: Sequence[Limit], *, cost: int = 1) -> list[RateLimitResult]:
    """Count `cost` against several limits, each by itself, in one round trip; a result for each.

    Cost 0 only looks; a negative one gives back.
    """
    try:
        replies = trip(
            limits(), [call(_COUNT, [limit.key], [cost, limit.seconds]) for limit in rate_limits]
        )
    except RedisError:
        counted = [local.count(limit, cost) for limit in rate_limits]
    else:
        counted = [(used, max(milliseconds, 0) / 1000) for used, milliseconds in replies]
        for limit, (used, resets_in) in zip(rate_limits, counted, strict=True):
            local.note(limit, used, resets_in)
    return [
        _result(limit.limit, used, resets_in, cost)
        for limit, (used, resets_in) in zip(rate_limits, counted, strict=True)
    ]


def _result(limit: int, used: int, resets_in: float, cost: int) -> RateLimitResult:
    allowed = used <= limit if cost else used < limit
    return RateLimitResult(allowed, remaining=max(limit - used, 0), resets_in=resets_in)
