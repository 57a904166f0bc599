"""A reader's timeline in Redis: a contiguous window of the newest ids, or nothing.

Form: one sorted LIST per reader, newest first. A member is the complement `2**63 - 1 - id`, which has 19 digits until
2075, so that byte order is newest first. A push nearly always adds the newest post: it looks at the head and adds the
post there, whereas a sorted set would first search all its 800 members (docs/decisions/0120). Other pushes, and reads
below a cursor, find their place by bisection.

The last member may be the sentinel `~` ("NoMore", source 001), which means that nothing older exists. It sorts after
every digit, is never an item, and is trimmed away as soon as the window no longer reaches the end.

A window exists while its reader is online; only the reader's own reads extend its life. During a rebuild, every push is
added to the window and to a separate building key, so that nothing published in the meantime is lost. At the end, one
script renames the building key, which replaces the window.

**Late arrivals.** Ids grow in the order of publication, but posts arrive in the order of delivery. A reader who asks
for ids above the newest id that they know would never see a post that was delivered late (source 003 wants growing ids
in the reader's inbox; requirements C07). So the script of a push records ids that are not the newest: at most a
hundred, by the time of their arrival in milliseconds of Redis's clock, each later than the last. Posts of a backfill
are not news, and are not recorded.

**Presence.** Most followers are away, and a large delivery must not look up the window of each. So each reader has a
bit, in bitmaps of 4096 account numbers; 1 means *away*. It is set by a push, in the script that finds neither window
nor building key. It is cleared by `begin`, in the script that makes the building key, so no reader with a window or a
building key is marked as away. A push to many readers first reads the bitmaps and leaves out readers who are away.
After the loss of a bitmap, the windows of all its readers are looked up (docs/decisions/0109).
"""

import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from time import perf_counter
from typing import Any, cast

import numpy as np

from feedcache.connections import Redis, RedisError, timelines, written
from feedcache.ids import MAX_ID
from feedcache.read_through import Batch, Future
from feedcache.redis_clients import (
    Command,
    PendingCommands,
    ScriptCall,
    execute,
    execute_atomically,
    is_cluster,
    run_script,
)
from feedcache.stats import spend
from feedcache.structures.restore import number_list

NO_MORE = b"~"
STAGES = ("windows", "inbox")  # the stages of a page to which these reads belong
BUILDING_TTL_SECONDS = 60  # of the keys of a rebuild, whose builder may have died
# The number of readers times posts in one script, during which Redis serves no other client: 0.3 ms if all are online.
PUSH_BATCH = 50
DROP_BATCH = 2000  # readers in one pipeline, for which Redis needs some milliseconds
EXISTS_BATCH = 2000  # readers in one pipeline
READERS_PER_BITMAP = 4096  # in a cluster their windows share a slot
BITMAPS_PER_TRIP = 500
AWAY_TTL_SECONDS = 30 * 24 * 3600  # after a reader was last marked as away in a bitmap
TOMBSTONE_TTL_SECONDS = 3600  # longer than any late delivery may take to arrive


@dataclass(frozen=True, slots=True)
class WindowRange:
    """Ids, newest first (oldest first in a read upwards), and whether the window covers the whole requested range. If
    it does not, query the next source.
    """

    ids: list[int]
    complete: bool


@dataclass(frozen=True, slots=True)
class HomeWindows:
    """All windows of one kind, such as the home timelines."""

    prefix: str
    length: int
    ttl_seconds: int
    generation: Callable[[], int] = int  # shared by all windows of this kind; a part of the key
    epoch: Callable[[], str] = str  # the suffix for the epoch of all caches; a part of the prefix

    @property
    def name(self) -> str:
        """The prefix of the keys in the current epoch and generation."""
        prefix, generation = self.prefix + self.epoch(), self.generation()
        return f"{prefix}.{generation}" if generation else prefix

    def of(self, generation: int) -> "HomeWindows":
        """The windows of a given generation."""
        return replace(self, generation=lambda: generation)

    def read(
        self, reader_id: int, *, newest: int | None, oldest: int, count: int
    ) -> WindowRange | None:
        """Up to `count` ids below `newest` and above `oldest` (both exclusive), newest first.

        Returns None if there is no window, for garbage, and if Redis does not answer. Extends the life of the window.
        """
        commands = self.read_commands(reader_id, newest=newest, count=count)
        try:
            answers = execute_atomically(timelines(), commands)
        except RedisError:
            return None
        return parse_range(answers, oldest=oldest, count=count)

    def read_up(
        self, reader_id: int, *, oldest: int, newest: int | None, count: int
    ) -> WindowRange | None:
        """Up to `count` ids just above `oldest`, oldest first; complete only if the window reaches down to `oldest`."""
        commands = self.read_up_commands(reader_id, oldest=oldest, newest=newest, count=count)
        try:
            return parse_range_up(execute_atomically(timelines(), commands), oldest=oldest)
        except RedisError:
            return None

    def read_commands(self, reader_id: int, *, newest: int | None, count: int) -> list[Command]:
        """The two commands of a read; `parse_range` parses their answers."""
        key = self.key(reader_id)
        ids: Command = ("LRANGE", key, 0, count)
        if newest is not None:
            ids = ScriptCall(READ_BELOW, [key], [_member(newest - 1), count])
        return [("EXPIRE", key, self.ttl_seconds), ids]

    def read_up_commands(
        self, reader_id: int, *, oldest: int, newest: int | None, count: int
    ) -> list[Command]:
        """The three commands of a read upwards; `parse_range_up` parses their answers."""
        key = self.key(reader_id)
        first = "" if newest is None else _member(newest - 1)
        ids = ScriptCall(READ_ABOVE, [key], [_member(oldest), first, count])
        return [("EXPIRE", key, self.ttl_seconds), ids, ("LRANGE", key, -1, -1)]

    def push(
        self,
        reader_ids: Sequence[int] | Sequence[str],
        post_ids: Sequence[int],
        *,
        news: bool = True,
    ) -> tuple[int, int]:
        """Like `deliver`, but returns how many readers are online and dormant; (0, 0) if all posts have tombstones."""
        online = self.deliver(reader_ids, post_ids, news=news)
        return (0, 0) if online is None else (len(online), len(reader_ids) - len(online))

    def deliver(
        self,
        reader_ids: Sequence[int] | Sequence[str],
        post_ids: Sequence[int],
        *,
        news: bool = True,
    ) -> set[int] | None:
        """Add ids to the windows that exist, live or being built. Returns the readers with such a window; None if all
        ids are deleted.

        Readers are given as ids, or as the digits that PostgreSQL returns. With `news`, the ids have just been
        published, so those that are not the newest are late arrivals. Idempotent and commutative. Skips ids with a
        tombstone, and does not extend the life of windows. Raises RedisError, because callers must know that a delivery
        failed. While the timelines move to another server, windows on both get the ids, and the readers returned are
        those who have a window on the server that is read.
        """
        if not reader_ids or not post_ids:
            return set()
        size = max(1, PUSH_BATCH // len(post_ids))
        readers = list(map(int, reader_ids))
        first, *_others = [
            self._deliver(client, readers, post_ids, size=size, news=news)
            for client in written("timelines")
        ]
        return first

    def _deliver(
        self,
        client: Redis,
        readers: Sequence[int],
        post_ids: Sequence[int],
        *,
        size: int,
        news: bool,
    ) -> set[int] | None:
        # for fewer readers, the script alone takes less time than reading the bitmaps first
        if len(readers) > size:
            readers = self._not_away(client, readers)
        # even without readers, a script has to look for the tombstones
        batches = [readers[start : start + size] for start in range(0, len(readers) or 1, size)]
        if is_cluster(client):
            return self._deliver_one_by_one(client, batches, post_ids, news=news)
        keys, members = list(map(_tombstone, post_ids)), list(map(_member, post_ids))
        head = [self.length, int(news), self.name]
        online: set[int] = set()
        for batch in batches:
            script = ScriptCall(PUSH, keys, [*head, ",".join(map(str, batch)), *members])
            [found] = execute(client, [script])
            # all posts were deleted meanwhile; every read skips the ids that earlier batches have added
            if found is None:
                return None
            online.update(compress(batch, found))
        return online

    def _not_away(self, client: Redis, readers: Sequence[int]) -> list[int]:
        """The readers who may have a window, in the given order."""
        numbers = np.array(readers, dtype=np.int64)
        indexes, rows = np.unique(numbers // READERS_PER_BITMAP, return_inverse=True)
        names = [self._away(index * READERS_PER_BITMAP) for index in indexes.tolist()]
        answers: list[Any] = []
        for start in range(0, len(names), BITMAPS_PER_TRIP):
            commands = [("GET", name) for name in names[start : start + BITMAPS_PER_TRIP]]
            answers += PendingCommands(client, commands).collect()
        width = READERS_PER_BITMAP // 8
        # a key of another type is treated like a lost bitmap
        texts = [answer if isinstance(answer, bytes) else b"" for answer in answers]
        bitmaps = np.frombuffer(
            b"".join(text[:width].ljust(width, b"\0") for text in texts), np.uint8
        )
        bits = numbers % READERS_PER_BITMAP
        away = bitmaps[rows * width + bits // 8] >> (7 - bits % 8) & 1
        online: list[int] = numbers[away == 0].tolist()
        return online

    def _deliver_one_by_one(
        self,
        client: Redis,
        batches: Sequence[Sequence[int]],
        post_ids: Sequence[int],
        *,
        news: bool,
    ) -> set[int] | None:
        """One script per reader, for a cluster: all keys of a script must be declared, because its slot may be moving.

        A delete may happen between the check of the tombstone and the push. The id then stays until it is trimmed, and
        every read skips it.
        """
        tombstones = execute(client, [("EXISTS", _tombstone(post_id)) for post_id in post_ids])
        alive = [
            post_id
            for post_id, is_deleted in zip(post_ids, tombstones, strict=True)
            if not is_deleted
        ]
        if not alive:
            return None
        online: set[int] = set()
        for batch in batches:
            scripts = [self.push_command(reader_id, alive, news=news) for reader_id in batch]
            online.update(compress(batch, execute(client, scripts)))
        return online

    def push_command(
        self, reader_id: int, post_ids: Sequence[int], *, news: bool = True
    ) -> Command:
        """A push to one reader, as a command to be sent with others. It does not look for tombstones.

        Its answer is 1 if the reader has a window, live or being built.
        """
        keys = [self.key(reader_id), self._building(reader_id), self._away(reader_id)]
        bit = reader_id % READERS_PER_BITMAP
        return ScriptCall(PUSH_ONE, keys, [self.length, int(news), bit, *map(_member, post_ids)])

    def remove(self, reader_id: int, post_ids: Collection[int]) -> None:
        """Remove ids from a window. It only saves memory, because every read checks its posts anyway."""
        members = [_member(post_id) for post_id in post_ids]
        if not members:
            return
        for client in written("timelines"):
            pipeline = client.pipeline(transaction=False)
            for member in members:
                pipeline.lrem(self.key(reader_id), 1, member)
                pipeline.lrem(self._building(reader_id), 1, member)
            pipeline.execute()

    def ids(self, reader_id: int) -> list[int]:
        """All ids of a window, newest first; a window has at most `length`."""
        members = cast("list[bytes]", timelines().lrange(self.key(reader_id), 0, -1))
        return [MAX_ID - int(member) for member in members if member != NO_MORE]

    def whole(self, reader_id: int) -> WindowRange | None:
        """A whole window, for audits; `complete` means that nothing older exists. Does not extend its life."""
        members = cast("list[bytes]", timelines().lrange(self.key(reader_id), 0, -1))
        ids = _ids(members)
        return WindowRange(ids, NO_MORE in members) if members and ids is not None else None

    def existing(self, reader_ids: Sequence[int]) -> set[int]:
        """The given readers who have a window."""
        found: set[int] = set()
        for start in range(0, len(reader_ids), EXISTS_BATCH):
            batch = reader_ids[start : start + EXISTS_BATCH]
            commands: list[Command] = [("EXISTS", self.key(reader_id)) for reader_id in batch]
            found.update(compress(batch, execute(timelines(), commands)))
        return found

    def exists(self, reader_id: int) -> bool:
        """Whether a reader has a window, which means that they are online."""
        return bool(timelines().exists(self.key(reader_id)))

    def accepts_pushes(self, reader_id: int) -> bool:
        """Whether a reader has a window, or a window is being built."""
        keys = self.key(reader_id), self._building(reader_id)
        return any(client.exists(*keys) for client in written("timelines"))

    def drop(self, reader_id: int) -> None:
        """Drop a window; the next read rebuilds it."""
        self.drop_many([reader_id])

    def drop_many(self, reader_ids: Sequence[int]) -> None:
        """Drop windows, and abort rebuilds in progress, because their snapshots may be outdated."""
        for start in range(0, len(reader_ids), DROP_BATCH):
            batch = reader_ids[start : start + DROP_BATCH]
            # one command for each reader, whose keys share a slot of a cluster
            unlinks: list[Command] = [("UNLINK", *self._keys(reader_id)) for reader_id in batch]
            for client in written("timelines"):
                execute(client, unlinks)

    def begin(self, reader_id: int) -> str | None:
        """Start a rebuild. Returns a token for `swap`; None while another process rebuilds."""
        token = secrets.token_hex(8)
        keys = [*self._keys(reader_id), self._away(reader_id)]
        bit = reader_id % READERS_PER_BITMAP
        won = _run(BEGIN, keys, [token, BUILDING_TTL_SECONDS, bit])
        return token if won else None

    def swap(self, reader_id: int, token: str, post_ids: Sequence[int], *, complete: bool) -> bool:
        """End a rebuild: merge the snapshot (newest first) with the ids pushed in the meantime, and replace the window
        in one step.

        `complete`: nothing older than the snapshot exists. Returns False if the rebuild was dropped, has expired or was
        taken over.
        """
        last = NO_MORE if complete else b""
        snapshot = number_list([MAX_ID - post_id for post_id in post_ids], last=last)
        args = [token, self.length, self.ttl_seconds, snapshot]
        return bool(_run(SWAP, self._keys(reader_id), args))

    def abandon(self, reader_id: int, token: str) -> None:
        """End a rebuild that failed, so that the next rebuild does not have to wait until its keys expire."""
        _run(ABANDON, self._keys(reader_id), [token])

    def late_key(self, reader_id: int) -> str:
        """The key of the late arrivals; the script for a push uses the same name."""
        return f"{self.key(reader_id)}:late"

    def _keys(self, reader_id: int) -> list[str]:
        return [self.key(reader_id), self._building(reader_id), self._lock(reader_id)]

    # All keys of one reader share a hash tag with the bitmap, so a Redis Cluster keeps them on one node.
    def key(self, reader_id: int) -> str:
        return f"{self.name}:{{{reader_id // READERS_PER_BITMAP}}}:{reader_id}"

    def _building(self, reader_id: int) -> str:
        return f"{self.key(reader_id)}:building"

    def _lock(self, reader_id: int) -> str:
        return f"{self.key(reader_id)}:lock"

    def _away(self, reader_id: int) -> str:
        """The key of the bitmap with a reader's bit; the script for a push uses the same name."""
        return f"{self.name}:{{{reader_id // READERS_PER_BITMAP}}}:away"


def late_arrivals(kinds: tuple[HomeWindows, ...], reader_id: int, *, since_ms: int) -> list[int]:
    """The ids that arrived late in a reader's windows after `since_ms` (Unix ms), newest first; [] if Redis does not
    answer.
    """
    pipeline: Any = timelines().pipeline(transaction=False)
    for windows in kinds:
        pipeline.zrangebyscore(windows.late_key(reader_id), f"({since_ms}", "+inf")
    try:
        answers = pipeline.execute()
    except RedisError:
        return []
    members = {member for answer in answers for member in answer if member.isdigit()}
    return sorted((MAX_ID - int(member) for member in members), reverse=True)


def mark_deleted(post_id: int) -> None:
    """Leave a tombstone, so that deliveries of the post that are still in progress skip it."""
    for client in written("timelines"):
        client.set(_tombstone(post_id), 1, ex=TOMBSTONE_TTL_SECONDS)


def _tombstone(post_id: int) -> str:
    return f"gone:{{{post_id}}}"


def _run(source: str, keys: list[str], args: list[Any]) -> Any:
    return run_script(timelines(), source, keys, args)


def _member(post_id: int) -> str:
    # zero-padded, because the complements of ids after 2075 have fewer than 19 digits
    return f"{MAX_ID - post_id:019d}"


def parse_range(answers: Sequence[Any], *, oldest: int, count: int) -> WindowRange | None:
    """Parse the answers to `HomeWindows.read_commands`; None if there is no window, and for garbage."""
    exists, members = answers
    ids = _ids(members)
    if not exists or ids is None:
        return None
    ended = NO_MORE in members
    inside = [post_id for post_id in ids if post_id > oldest]
    passed = len(inside) < len(ids)  # the window continues below the requested range
    return WindowRange(inside[:count], complete=ended or passed or len(inside) > count)


def parse_range_up(answers: Sequence[Any], *, oldest: int) -> WindowRange | None:
    """Parse the answers to `HomeWindows.read_up_commands`; None if there is no window, and for garbage."""
    exists, members, last = answers
    ids, lowest = _ids(members), _ids(last)
    if not exists or ids is None or lowest is None:
        return None
    reaches = last == [NO_MORE] or any(post_id <= oldest for post_id in lowest)
    return WindowRange(ids, reaches)


def _ids(members: Sequence[bytes]) -> list[int] | None:
    try:
        return [MAX_ID - int(member) for member in members if member != NO_MORE]
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Merged:
    """Ids in the page's order. `end` is the id down to which they are complete; 0 for a full page or a whole range."""

    ids: list[int]
    end: int = 0


@dataclass(frozen=True, slots=True)
class WindowReads:
    """A range of several windows (None for a missing one), and the value of `version_key`, which was read before them.

    If Redis does not answer, all ranges are None, and `answered` is False.
    """

    parts: list[WindowRange | None]
    version: bytes | None = None
    answered: bool = True


# The number of members before a given one.
_PLACE = """
local function place(key, member)
  local low, high = 0, redis.call('LLEN', key)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if redis.call('LINDEX', key, middle) < member then low = middle + 1 else high = middle end
  end
  return low
end
"""

# One command for a page instead of two for each window; a key of another type is an error.
# KEYS: windows. ARGV: the first member to read (or an empty text), how many more, and the life of each window.
_READ = (
    _PLACE
    + """
local ranges = {}
for i, key in ipairs(KEYS) do
  local exists = redis.call('EXPIRE', key, ARGV[i + 2])
  local first = ARGV[1] == '' and 0 or place(key, ARGV[1])
  ranges[i] = {exists, redis.call('LRANGE', key, first, first + ARGV[2])}
end
return ranges
"""
)


@dataclass(frozen=True, slots=True)
class WindowsQuery:
    """A query for up to `count` ids in each of a reader's windows between two ids (exclusive), newest first.

    All windows are read at one moment, and their life is extended. The value of `version_key` is read first, so it may
    be older than the windows, but never newer.
    """

    kinds: Sequence[HomeWindows]
    reader_id: int
    newest: int | None
    oldest: int
    count: int
    version_key: str

    @property
    def commands(self) -> list[Command]:
        keys = [kind.key(self.reader_id) for kind in self.kinds]
        lives = [kind.ttl_seconds for kind in self.kinds]
        first = "" if self.newest is None else _member(self.newest - 1)
        script = ScriptCall(_READ, keys, [first, self.count, *lives])
        return [("GET", self.version_key), script]

    def parse(self, answers: Sequence[Any]) -> WindowReads:
        version, ranges = answers
        parts = [parse_range(each, oldest=self.oldest, count=self.count) for each in ranges]
        return WindowReads(parts, version)

    @property
    def unanswered(self) -> WindowReads:
        return WindowReads([None] * len(self.kinds), answered=False)


def read_windows(query: WindowsQuery) -> WindowReads:
    """Read several windows in one round trip."""
    began = perf_counter()
    try:
        return query.parse(execute(timelines(), query.commands))
    except RedisError:
        return query.unanswered
    finally:
        spend(STAGES, perf_counter() - began)


def queue_windows(batch: Batch, query: WindowsQuery) -> Future[WindowReads]:
    """Like `read_windows`, but queued in a batch."""
    queued = batch.commands(timelines(), query.commands, stages=STAGES)
    return lambda: query.unanswered if queued.has_failed else query.parse(queued.answers)


def read_windows_up(query: WindowsQuery) -> WindowReads:
    """Like `read_windows`, but oldest first from just above `oldest`. Complete only if a window reaches down to
    `oldest`.
    """
    commands = [
        command
        for kind in query.kinds
        for command in kind.read_up_commands(
            query.reader_id, oldest=query.oldest, newest=query.newest, count=query.count
        )
    ]
    began = perf_counter()
    try:
        first, *rest = execute_atomically(timelines(), [("GET", query.version_key), *commands])
    except RedisError:
        return query.unanswered
    finally:
        spend(STAGES, perf_counter() - began)
    triples = zip(rest[::3], rest[1::3], rest[2::3], strict=True)
    return WindowReads([parse_range_up(triple, oldest=query.oldest) for triple in triples], first)


def merge_down(parts: Sequence[WindowRange], *, newest: int | None, count: int) -> Merged:
    """Merge ranges into up to `count` distinct ids, newest first; leave out ids below the id down to which all ranges
    are complete.
    """
    began = perf_counter()
    end = max(_end(part, newest=newest, count=count) for part in parts)
    ids = [post_id for post_id in _distinct(parts, newest_first=True) if post_id >= end]
    spend(["merge"], perf_counter() - began)
    # a full page: the rest of the range does not matter
    return Merged(ids[:count], end=0 if len(ids) >= count else end)


def merge_up(parts: Sequence[WindowRange], *, count: int) -> Merged | None:
    """Merge ranges into up to `count` distinct ids, oldest first; None if a window does not reach down to the start."""
    if not all(part.complete for part in parts):
        return None
    return Merged(_distinct(parts, newest_first=False)[:count])


def _end(part: WindowRange, *, newest: int | None, count: int) -> int:
    """The id down to which a window is complete: 0 for the whole range; `newest` (or the maximum) for none of it."""
    if len(part.ids) >= count:
        return part.ids[-1]
    if part.complete:
        return 0
    if part.ids:
        return part.ids[-1]
    return MAX_ID if newest is None else newest


def _distinct(parts: Sequence[WindowRange], *, newest_first: bool) -> list[int]:
    return sorted(set[int]().union(*(part.ids for part in parts)), reverse=newest_first)


# KEYS: live. ARGV: the first member to read, and how many more.
READ_BELOW = (
    _PLACE
    + """
local first = place(KEYS[1], ARGV[1])
return redis.call('LRANGE', KEYS[1], first, first + ARGV[2])
"""
)

# KEYS: live. ARGV: the member to read up from, the last one to read (or an empty text), how many. Oldest first.
READ_ABOVE = (
    _PLACE
    + """
local last = place(KEYS[1], ARGV[1]) - 1
local first = ARGV[2] == '' and 0 or place(KEYS[1], ARGV[2])
first = math.max(first, last + 1 - ARGV[3])
local found = first <= last and redis.call('LRANGE', KEYS[1], first, last) or {}
local up = {}
for m = #found, 1, -1 do up[#up + 1] = found[m] end
return up
"""
)

# A window without the sentinel ends somewhere in the middle of history: an id beyond its end must not be added,
# or the window would have a hole that looks complete. A key of another type is left to the next rebuild.
_ADD = (
    _PLACE
    + f"""
local function trim(key, length, limit)
  if length > limit then redis.call('RPOP', key, length - limit) end
end
local function add(key, member, limit, late)
  local head = redis.pcall('LINDEX', key, 0)
  if not head or head.err then return 0 end
  if member < head then
    trim(key, redis.call('LPUSH', key, member), limit)
    return 1
  end
  local last = redis.call('LINDEX', key, -1)
  if last ~= '~' and last ~= '~~' and member > last then return 1 end
  local behind = redis.call('LINDEX', key, place(key, member))
  if behind ~= member then
    trim(key, redis.call('LINSERT', key, 'BEFORE', behind, member), limit)
    if late then late(key, member) end
  end
  return 1
end
local function push(live, building, away, bit, members, limit, late)
  local found = 0
  for _, member in ipairs(members) do
    found = math.max(add(live, member, limit, late), add(building, member, limit))
    if found == 0 then break end
  end
  if found == 0 and redis.pcall('SETBIT', away, bit, 1) == 0 then
    redis.call('EXPIRE', away, {AWAY_TTL_SECONDS})
  end
  return found
end
"""
)

# Late arrivals: members by the time of their arrival, strictly increasing.
MAX_LATE = 100
LATE_TTL_SECONDS = 3 * 24 * 3600
_NOTE = f"""
local function note(live, member)
  local key = live .. ':late'
  local newest = redis.pcall('ZRANGE', key, -1, -1, 'WITHSCORES')
  if newest.err then redis.call('DEL', key) end
  local now = redis.call('TIME')
  local at = math.max(now[1] * 1000 + math.floor(now[2] / 1000), (newest[2] or 0) + 1)
  redis.call('ZADD', key, 'NX', string.format('%d', at), member)
  redis.call('ZREMRANGEBYRANK', key, 0, -{MAX_LATE + 1})
  redis.call('EXPIRE', key, {LATE_TTL_SECONDS})
end
"""

# Not for a cluster. The script builds the keys from the readers' ids: a quarter of the work of sending the keys.
# KEYS: a tombstone per member. ARGV: limit, whether the members are news, prefix, comma-separated readers, members.
# Returns a byte for each reader, 1 for those online; nil when all members have tombstones.
PUSH = (
    _ADD
    + _NOTE
    + f"""
local limit, alive = tonumber(ARGV[1]), {{}}
for m = 1, #KEYS do
  if redis.call('EXISTS', KEYS[m]) == 0 then alive[#alive + 1] = ARGV[m + 4] end
end
if #alive == 0 then return false end
local late = ARGV[2] == '1' and note
local found, prefix = {{}}, ARGV[3] .. ':{{'
for reader in string.gmatch(ARGV[4], '%d+') do
  local bit = reader % {READERS_PER_BITMAP}
  local tag = prefix .. (reader - bit) / {READERS_PER_BITMAP} .. '}}:'
  local key = tag .. reader
  found[#found + 1] = string.char(push(key, key .. ':building', tag .. 'away', bit, alive, limit, late))
end
return table.concat(found)
"""
)

# For one reader, whose keys are in one slot of a cluster. KEYS: live, building, away. ARGV: limit, whether news, bit,
# members.
PUSH_ONE = (
    _ADD
    + _NOTE
    + """
local members = {}
for m = 4, #ARGV do members[m - 3] = ARGV[m] end
return push(KEYS[1], KEYS[2], KEYS[3], ARGV[3], members, tonumber(ARGV[1]), ARGV[2] == '1' and note)
"""
)

# KEYS: live, building, lock, away. ARGV: token, ttl, bit. The placeholder keeps the building key in existence.
BEGIN = """
if redis.call('SET', KEYS[3], ARGV[1], 'NX', 'EX', ARGV[2]) == false then return 0 end
redis.call('DEL', KEYS[2])
redis.call('RPUSH', KEYS[2], '~~')
redis.call('EXPIRE', KEYS[2], ARGV[2])
if redis.pcall('GETBIT', KEYS[4], ARGV[3]) == 1 then redis.call('SETBIT', KEYS[4], ARGV[3], 0) end
return 1
"""

# KEYS: live, building, lock. ARGV: token, limit, ttl, the snapshot for RESTORE. Adds the ids pushed meanwhile.
# Without the sentinel the window ends where the snapshot does. A building key that lost its
# placeholder was cut by many pushes, and may lack ids below its own end: then the window ends there.
# RESTORE costs the server less than adding 800 members.
SWAP = (
    _ADD
    + """
local live, building, lock, limit = KEYS[1], KEYS[2], KEYS[3], tonumber(ARGV[2])
if redis.call('GET', lock) ~= ARGV[1] or redis.call('EXISTS', building) == 0 then return 0 end
local cut = redis.call('LREM', building, -1, '~~') == 0 and redis.call('LINDEX', building, -1)
local pushed = redis.call('LRANGE', building, 0, -1)
if ARGV[4] ~= '' then redis.call('RESTORE', building, 0, ARGV[4], 'REPLACE') end
for m = #pushed, 1, -1 do add(building, pushed[m], limit) end
if cut then redis.call('LTRIM', building, 0, place(building, cut)) end
redis.call('RENAME', building, live)
redis.call('EXPIRE', live, ARGV[3])
redis.call('DEL', lock)
return 1
"""
)


# KEYS: live, building, lock. ARGV: token.
ABANDON = """
if redis.call('GET', KEYS[3]) == ARGV[1] then redis.call('DEL', KEYS[2], KEYS[3]) end
return 0
"""
