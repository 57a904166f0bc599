"""Exact rate limits: fixed windows, counted by one script in Redis, so that processes cannot exceed them in a race.

While Redis fails (dead, frozen, read-only, full), every process counts separately with the same limits, starting from
the last counts that it received. The site then allows at most the limit multiplied by the number of its processes.
"""

import hashlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from feedcache.connections import RedisError, written
from feedcache.read_through import Batch, Future
from feedcache.redis_clients import ScriptCall, execute

MAX_LOCAL_SUBJECTS = 20_000  # per limit, in one process
# A count never falls below zero, or the window would allow more than its limit.
_COUNT = """
local cost = tonumber(ARGV[1])
if cost < 0 then cost = math.max(cost, -tonumber(redis.call('GET', KEYS[1]) or 0)) end
local used = redis.call('INCRBY', KEYS[1], cost)
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return {used, redis.call('PTTL', KEYS[1])}
"""


@dataclass(frozen=True, slots=True)
class RateLimitResult:
    """Whether the request is allowed, how many more requests are allowed, and in how many seconds the window ends."""

    allowed: bool
    remaining: int
    resets_in: float

    @property
    def retry_after(self) -> int:
        """Seconds until the next attempt; meaningful only if the request is not allowed."""
        return max(math.ceil(self.resets_in), 1)


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `limit` per `seconds` for a subject. Limits with different names have separate counts."""

    name: str
    subject: str
    limit: int
    seconds: int

    @property
    def key(self) -> str:
        """The key in Redis, which does not reveal the subject."""
        digest = hashlib.blake2b(self.subject.encode(), digest_size=12).hexdigest()
        return f"limit:{self.name}:{digest}"


class LocalWindows:
    """Windows counted inside this process, for the latest subjects of each limit. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._ends: dict[str, OrderedDict[str, tuple[int, float]]] = {}

    def note(self, limit: Limit, used: int, resets_in: float) -> None:
        """Remember the last count that Redis returned."""
        with self._lock:
            self._put(limit, used, self._clock() + resets_in)

    def count(self, limit: Limit, cost: int) -> tuple[int, float]:
        """Count `cost`; returns the window's count, and in how many seconds the window ends."""
        with self._lock:
            now = self._clock()
            windows = self._ends.get(limit.name)
            used, end = windows.get(limit.key, (0, 0.0)) if windows else (0, 0.0)
            if end <= now:
                used, end = 0, now + limit.seconds
            used = max(used + cost, 0)
            self._put(limit, used, end)
            return used, end - now

    def used_up_for(self, limit: Limit) -> float:
        """The seconds until the window of an exceeded limit ends; 0 if it is not exceeded, or if that is unknown."""
        with self._lock:
            windows = self._ends.get(limit.name)
            used, end = windows.get(limit.key, (0, 0.0)) if windows else (0, 0.0)
            return max(end - self._clock(), 0.0) if used > limit.limit else 0.0

    def clear(self) -> None:
        with self._lock:
            self._ends.clear()

    def _put(self, limit: Limit, used: int, end: float) -> None:
        windows = self._ends.setdefault(limit.name, OrderedDict())
        windows[limit.key] = (used, end)
        windows.move_to_end(limit.key)
        if len(windows) > MAX_LOCAL_SUBJECTS:
            windows.popitem(last=False)


local = LocalWindows()


def count_each(rate_limits: Sequence[Limit], *, cost: int = 1) -> list[RateLimitResult]:
    """Count `cost` against several independent limits in one round trip; returns a result for each.

    A cost of 0 only reads the count, and begins a window if there is none; a negative cost lowers the count.
    """
    commands = [_count_call(limit, cost) for limit in rate_limits]
    first, *others = written("limits")
    try:
        replies = execute(first, commands)
        for other in others:  # while the limits move, the stricter server decides
            with suppress(RedisError):
                replies = list(map(max, replies, execute(other, commands)))
    except RedisError:
        return [_count_here(limit, cost) for limit in rate_limits]
    return [_result(limit, reply, cost) for limit, reply in zip(rate_limits, replies, strict=True)]


def known_refusal(limit: Limit) -> RateLimitResult | None:
    """A refusal, if this process has already seen the limit exceeded in this window. Makes no request; counts nothing.

    As long as no negative cost is counted, a window only fills up, so the server would refuse, too. None means that
    only the server can decide.
    """
    seconds = local.used_up_for(limit)
    return RateLimitResult(allowed=False, remaining=0, resets_in=seconds) if seconds else None


def queue_count(batch: Batch, limit: Limit) -> Future[RateLimitResult]:
    """Count 1 against a limit in a batch; while limits move between servers, after the batch."""
    client, *others = written("limits")
    if others:
        return lambda: count_each([limit])[0]
    queued = batch.commands(client, [_count_call(limit, 1)])

    def result() -> RateLimitResult:
        return _count_here(limit, 1) if queued.has_failed else _result(limit, queued.answers[0], 1)

    return result


def _count_call(limit: Limit, cost: int) -> ScriptCall:
    return ScriptCall(_COUNT, [limit.key], [cost, limit.seconds])


def _result(limit: Limit, reply: tuple[int, int], cost: int) -> RateLimitResult:
    used, milliseconds = reply
    resets_in = max(milliseconds, 0) / 1000
    local.note(limit, used, resets_in)
    return _evaluated(limit, used, resets_in, cost)


def _count_here(limit: Limit, cost: int) -> RateLimitResult:
    used, resets_in = local.count(limit, cost)
    return _evaluated(limit, used, resets_in, cost)


def _evaluated(limit: Limit, used: int, resets_in: float, cost: int) -> RateLimitResult:
    allowed = used <= limit.limit if cost else used < limit.limit
    return RateLimitResult(allowed, max(limit.limit - used, 0), resets_in)
