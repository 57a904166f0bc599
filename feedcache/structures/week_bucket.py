"""The posts that one owner wrote in one ISO week, in Redis: one hash per week, id -> value (source 004).

    week:<form>:{owner}:2026-W47 = {post id: value, ..., "~": revision, "#": bytes of all values}

A bucket is complete or missing; an empty bucket means that nothing was written that week. `~` is the owner's revision
up to which the bucket has all changes; a reader with a newer revision treats the bucket as a miss. A bucket expires a
week after the last write. A week with more than `max_values` or `max_bytes` is not cached (source 004 expects 100 posts
and 100 KB): for an hour, a mark takes its place, so that no process builds it again only to find that it is too large.

The builder of a bucket holds the owner's lock. A change deletes the lock, so values read before it are never stored.
"""

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from feedcache.connections import (
    Redis,
    RedisError,
    configuration,
    read_replicated,
    replicas,
    timelines,
)
from feedcache.ids import first_id_at, second_of
from feedcache.read_through import Batch, QueuedCommands
from feedcache.redis_clients import ScriptCall, run_script

WEEK_SECONDS = 7 * 24 * 3600
MONDAY = 4 * 24 * 3600  # 1970-01-05 as a Unix time
PAGE_FIELDS = 128  # fields requested by one HSCAN: most weeks fit into one page
MAX_TRIES = 2  # a scan is repeated if the bucket changed in the meantime
LOCK_TTL_SECONDS = 10  # of a lock, whose builder may have died
TOO_LARGE_TTL_SECONDS = 3600
REVISION, SIZE, TOO_LARGE = b"~", b"#", b"-"

_ID = re.compile(rb"[1-9][0-9]{0,18}")

# KEYS: lock. ARGV: token, ttl. A lock without an expiry is garbage.
_BEGIN = """
if redis.call('TTL', KEYS[1]) == -1 then redis.call('DEL', KEYS[1]) end
return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'EX', ARGV[2]) and 1 or 0
"""

# KEYS: lock, bucket. ARGV: token, ttl, fields and values.
_STORE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[2], unpack(ARGV, 3))
redis.call('EXPIRE', KEYS[2], ARGV[2])
return 1
"""

# KEYS: lock. ARGV: token.
_END = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0
"""

# KEYS: lock, buckets. ARGV: old revision, new revision, id, number of the id's bucket (0: none of them), value (''
# removes the id), ttl, most values, most bytes, ttl of the mark, channel, message. A bucket that already has the new
# revision was made after the change.
_CHANGE = """
redis.call('PUBLISH', ARGV[10], ARGV[11])
redis.call('DEL', KEYS[1])
local old, new = tonumber(ARGV[1]), tonumber(ARGV[2])
for i = 2, #KEYS do
  local key = KEYS[i]
  local have = redis.call('HGET', key, '~')
  local revision = tonumber(have or '')
  if have and have ~= '-' and revision ~= old and (not revision or revision < new) then
    redis.call('UNLINK', key)
  elseif revision == old then
    if i - 1 == tonumber(ARGV[4]) then
      local before = redis.call('HSTRLEN', key, ARGV[3])
      if ARGV[5] == '' then redis.call('HDEL', key, ARGV[3]) else redis.call('HSET', key, ARGV[3], ARGV[5]) end
      redis.call('HINCRBY', key, '#', #ARGV[5] - before)
    end
    redis.call('HSET', key, '~', ARGV[2])
    redis.call('EXPIRE', key, ARGV[6])
    local entries, bytes = redis.call('HLEN', key) - 2, tonumber(redis.call('HGET', key, '#') or 0)
    if entries > tonumber(ARGV[7]) or bytes > tonumber(ARGV[8]) then
      redis.call('UNLINK', key)
      redis.call('HSET', key, '~', '-')
      redis.call('EXPIRE', key, ARGV[9])
    end
  end
end
return 1
"""


@dataclass(frozen=True, slots=True, order=True)
class Week:
    """An ISO week in UTC, given by the Unix second in which its Monday begins."""

    start: int

    @classmethod
    def of_second(cls, second: int) -> "Week":
        return cls(second - (second - MONDAY) % WEEK_SECONDS)

    @classmethod
    def of_id(cls, post_id: int) -> "Week":
        return cls.of_second(second_of(post_id))

    @property
    def name(self) -> str:
        """The name of the week, such as 2026-W47."""
        year, week, _day = datetime.fromtimestamp(self.start, UTC).isocalendar()
        return f"{year}-W{week:02d}"

    @property
    def first_id(self) -> int:
        """The lower bound of the ids of the week."""
        return first_id_at(self.start)

    def before(self, weeks: int = 1) -> "Week":
        return Week(self.start - weeks * WEEK_SECONDS)


@dataclass(frozen=True, slots=True)
class Bucket:
    """One week at `revision`. `is_cached` is False for a week that is too large: query the database."""

    revision: int = 0
    values: Mapping[int, bytes] = field(default_factory=dict)
    is_cached: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """The change to one id between two revisions. An empty value means that the id was deleted."""

    old: int
    new: int
    post_id: int
    value: bytes = b""


@dataclass(frozen=True, slots=True)
class WeekBuckets:
    """All buckets of one kind. Changes publish the owner's id on `channel`.

    All methods except `queue_change` raise RedisError.
    """

    prefix: str
    channel: str
    epoch: Callable[[], str] = str  # the suffix for the epoch of all caches; a part of the prefix
    ttl_seconds: int = WEEK_SECONDS
    max_values: int = 500
    max_bytes: int = 1_000_000

    def read(
        self, owner_id: int, weeks: Sequence[Week], *, revision: int = 0
    ) -> list[Bucket | None]:
        """The buckets of the given weeks; None for a bucket that is missing, garbage, or older than `revision`.

        All are None if a bucket changed during each of `MAX_TRIES` scans. If a `revision` is given, replicas are read
        first. Only a replica that has all buckets is used, so a lagging replica does no harm.
        """
        keys = [self._key(owner_id, week) for week in weeks]
        if not revision or not replicas("timelines"):
            return self._read(timelines(), keys, revision)

        def read(client: Redis) -> list[Bucket | None] | None:
            buckets = self._read(client, keys, revision)
            return buckets if all(buckets) or client is timelines() else None

        return read_replicated("timelines", read) or []

    def _read(self, client: Redis, keys: list[str], revision: int) -> list[Bucket | None]:
        for _ in range(MAX_TRIES):
            buckets = self._scan(client, keys)
            if buckets is not None:
                return [
                    one if one and (one.revision >= revision or not one.is_cached) else None
                    for one in buckets
                ]
        return [None for _key in keys]

    def begin(self, owner_id: int) -> str | None:
        """Start building. Returns a token for `store`, or None while another process is building."""
        token = secrets.token_hex(8)
        args = [token, LOCK_TTL_SECONDS]
        return token if _run(_BEGIN, [self._lock(owner_id)], args) else None

    def store(self, owner_id: int, token: str, week: Week, bucket: Bucket) -> bool:
        """Store a bucket (a mark if it is too large), unless the lock was lost; returns whether a bucket is stored."""
        size = sum(map(len, bucket.values.values()))
        fits = len(bucket.values) <= self.max_values and size <= self.max_bytes
        is_cached = bucket.is_cached and fits
        fields: list[Any] = [REVISION, TOO_LARGE]
        if is_cached:
            fields = [REVISION, bucket.revision, SIZE, size]
            for post_id, value in bucket.values.items():
                fields += [post_id, value]
        ttl = self.ttl_seconds if is_cached else TOO_LARGE_TTL_SECONDS
        keys = [self._lock(owner_id), self._key(owner_id, week)]
        return bool(_run(_STORE, keys, [token, ttl, *fields])) and is_cached

    def end(self, owner_id: int, token: str) -> None:
        """Release the lock."""
        _run(_END, [self._lock(owner_id)], [token])

    def queue_change(
        self, batch: Batch, owner_id: int, weeks: Sequence[Week], change: Change
    ) -> QueuedCommands:
        """Queue in a batch: update existing buckets from one revision to the next, and delete those that are behind.

        `weeks`: all weeks that readers may ask for now. After an error, the buckets are misses, because readers use the
        newer revision.
        """
        names = [self._key(owner_id, week) for week in weeks]
        own = self._key(owner_id, Week.of_id(change.post_id))
        args = [
            change.old, change.new, change.post_id, names.index(own) + 1 if own in names else 0, change.value,
            self.ttl_seconds, self.max_values, self.max_bytes, TOO_LARGE_TTL_SECONDS, self.channel, owner_id,
        ]  # fmt: skip
        server = timelines()
        if server is not configuration():  # the server to which processes listen
            batch.commands(configuration(), [("PUBLISH", self.channel, owner_id)])
        script = ScriptCall(_CHANGE, [self._lock(owner_id), *names], args)
        return batch.commands(server, [script])

    def drop(self, owner_id: int, weeks: Sequence[Week]) -> None:
        timelines().unlink(self._lock(owner_id), *[self._key(owner_id, week) for week in weeks])

    def _scan(self, client: Any, keys: list[str]) -> list[Bucket | None] | None:
        """All buckets, read page by page; None if a bucket changed between two of its pages."""
        with client.pipeline(transaction=True) as pipeline:
            for key in keys:
                pipeline.hget(key, "~")
                pipeline.hscan(key, 0, count=PAGE_FIELDS)
            answers = pipeline.execute(raise_on_error=False)
        buckets: list[Bucket | None] = []
        for key, revision, page in zip(keys, answers[::2], answers[1::2], strict=True):
            if isinstance(page, RedisError):  # garbage of another type
                buckets.append(None)
                continue
            cursor, fields = page
            if cursor and not self._rest(client, key, cursor, fields, revision):
                return None
            buckets.append(self._bucket(fields))
        return buckets

    def _rest(
        self, client: Any, key: str, cursor: int, fields: dict[bytes, bytes], revision: bytes | None
    ) -> bool:
        """Read the remaining pages of a bucket; returns whether its revision has stayed the same."""
        while cursor and len(fields) <= self.max_values + len((REVISION, SIZE)):
            cursor, page = client.hscan(key, cursor, count=PAGE_FIELDS)
            fields |= page
        return revision is not None and revision == client.hget(key, "~")

    def _bucket(self, fields: Mapping[bytes, bytes]) -> Bucket | None:
        revision = fields.get(REVISION, b"")
        if revision == TOO_LARGE:
            return Bucket(is_cached=False)
        values = {int(name): value for name, value in fields.items() if _ID.fullmatch(name)}
        if not revision.isdigit() or len(values) > self.max_values:
            return None
        return Bucket(int(revision), values)

    # All keys of one owner share a hash tag, so a Redis Cluster keeps them on one node.
    def _key(self, owner_id: int, week: Week) -> str:
        return f"{self.prefix}{self.epoch()}:{{{owner_id}}}:{week.name}"

    def _lock(self, owner_id: int) -> str:
        return f"{self.prefix}{self.epoch()}:{{{owner_id}}}:lock"


def _run(source: str, keys: list[str], args: list[Any]) -> Any:
    return run_script(timelines(), source, keys, args)
