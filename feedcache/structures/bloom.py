"""Bloom filters in Redis that tell whether a user has liked, read or otherwise marked a post. Sources 000 and 002 call
this "phantom".

A "no" is certain; a "yes" must be checked in the database. Filters are split into segments by the time of the post, not
of the mark, so one lookup is enough, and old segments expire as a whole. If there is no complete filter, a chunk was
lost, or the post is older than the horizon, the answer is "unknown" (for marks without database rows: "no").

**Chunks.** A segment consists of chunks: plain strings, used as bitmaps, each just under 64 KiB, so that the allocator
wastes nothing. A record (a user and a post) is in one chunk; the positions of its k bits there come from one 128-bit
hash by double hashing. The number of positions is prime, so that every stride visits k different bits. At its design
load, a segment gets another layer of chunks with more hashes, so that the false-positive rate stays as designed. All
chunks of a layer are made at the same time, with their last bit set, and marking never makes a chunk. So a chunk
without that bit was lost, together with its marks.

**Generations.** A filter that was lost and started again would answer "no" for earlier marks. So each filter has a
random token, which is stored under `live` only once the filter contains every row, and is lost together with the store.
A filter that is being rebuilt is stored under `building`, and marks are added to both. The token is part of the keys,
so two generations never mix. `layers` contains the number of layers of each segment; a segment that is missing from it
was never marked.
"""

import hashlib
import json
import logging
import secrets
import struct
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from math import ceil, exp, log, sqrt
from typing import Any, NamedTuple

from feedcache.connections import Redis, RedisError, existence
from feedcache.ids import AUTHOR_BITS, EPOCH, SEQUENCE_BITS
from feedcache.read_through import Batch, Future
from feedcache.redis_clients import Command, ScriptCall, execute, is_cluster, run_script

CHUNK_BYTES = 65_528  # with Redis' header, just inside the allocator's 64 KiB class
POSITIONS = 524_203  # a prime; all positions are below the last bit, PRESENT_BIT
PRESENT_BIT = CHUNK_BYTES * 8 - 1  # set when a chunk is made: without it, the chunk was lost
# Per further layer, so that it adds only 1/32 of the false-positive rate of the layer before.
EXTRA_HASHES = 5
CAPACITY_MARGIN = 0.995  # a filter at its capacity stays a little below the design load
MEASURE_EVERY = 64  # one in this many records measures the fill of its chunk


@dataclass(frozen=True)
class Sizing:
    """The sizes for one kind of mark: bytes per record, hashes (0: the optimal number), size of a segment."""

    bytes_per_record: float = 1.2
    hashes: int = 0
    segment_records: int = 50_000
    segment_seconds: int = 7 * 24 * 3600

    def __post_init__(self) -> None:
        if not 0.2 <= self.bytes_per_record <= 8 or not 0 <= self.hashes <= 32:
            raise ValueError("0.2 to 8 bytes a record, at most 32 hashes")
        if self.segment_records < 1 or self.segment_seconds < 1:
            raise ValueError("a segment holds at least one record and one second")

    @cached_property
    def first_hashes(self) -> int:
        """The number of hashes (k) in the first layer."""
        return self.hashes or max(1, round(8 * self.bytes_per_record * log(2)))

    @cached_property
    def chunks(self) -> int:
        """The chunks of a segment's first layer; every further layer has twice as many."""
        return ceil(self.segment_records * self.bytes_per_record * 8 / POSITIONS)

    @cached_property
    def capacity(self) -> int:
        """The number of records for which the first layer is designed."""
        return int(self.chunks * POSITIONS / (8 * self.bytes_per_record) * CAPACITY_MARGIN)

    @cached_property
    def full_at(self) -> float:
        """The share of set bits at which a chunk needs another layer.

        Chunks fill unevenly, so this is the share at the design load plus a margin: with a probability of 95 % (19 of
        20), all chunks of a segment are below it when the segment reaches its design load.
        """
        records = POSITIONS / (8 * self.bytes_per_record)
        ahead = sqrt(2 * log(20 * self.chunks) / records) if self.chunks > 1 else 0
        return self._filled(1 + ahead)

    @cached_property
    def signature(self) -> str:
        """Everything that decides where a bit is. Filters with a different signature are never read."""
        return f"{self.bytes_per_record:g}x{self.first_hashes}x{self.chunks}x{self.segment_seconds}"

    @property
    def rate(self) -> float:
        """The false-positive rate of the first layer at its design load."""
        return self._filled(1) ** self.first_hashes

    def _filled(self, load: float) -> float:
        return 1 - exp(-load * self.first_hashes / (8 * self.bytes_per_record))

    def hashes_of(self, layer: int) -> int:
        return self.first_hashes + EXTRA_HASHES * layer

    def chunks_of(self, layer: int) -> int:
        return self.chunks << layer


Pair = tuple[int, int]  # user id, post id


class Record(NamedTuple):
    """A user, a post and their hash: `start` and `stride` determine the positions, `rest` determines the chunk."""

    pair: Pair
    start: int
    stride: int
    rest: int

    @property
    def is_sampled(self) -> bool:
        """Whether marking the record also measures the fill of its chunk; the same in every process."""
        return self.rest // 7919 % MEASURE_EVERY == 0


Records = dict[int, list[Record]]  # by segment


def record_of(kind: str, user_id: int, post_id: int) -> Record:
    """The record of a user and a post; the same in all processes, on all machines and in all versions."""
    pair = struct.pack("<QQ", user_id, post_id)
    number = int.from_bytes(hashlib.blake2b(pair, digest_size=16, person=kind.encode()).digest())
    number, start = divmod(number, POSITIONS)
    number, stride = divmod(number, POSITIONS - 1)
    # like Record(...), but without calling a Python function: a page makes hundreds of records
    return tuple.__new__(Record, ((user_id, post_id), start, stride + 1, number))


def positions_of(records: Iterable[Record], hashes: int) -> list[int]:
    """The bits of records in their chunks, in the order of the records."""
    steps = range(hashes)
    return [
        (start + step * stride) % POSITIONS
        for _pair, start, stride, _rest in records
        for step in steps
    ]


def records_in(bits_set: int, hashes: int, chunks: int = 1) -> float:
    """An estimate of the number of records that have set this many bits."""
    total = POSITIONS * chunks
    return -total / hashes * log(max(1 - bits_set / total, 1 / total))


def capacity_report(records: int, bytes_per_record: float) -> dict[str, float]:
    """The bytes for a number of records, compared with a counter or a Redis key for each (requirement S71)."""
    return {
        "filter": records * bytes_per_record,
        "counter": records * 9.0,
        "redis key": records * 65.0,
    }


NAME = "phantom:1"
META = f"{{{NAME}}}"  # the braces keep everything about generations in one slot of a cluster
LOCK_SECONDS = 60

# --- the state of the filters: which is live, which is being rebuilt, and by which process --------
# Returns nil for garbage.
_READ = """
local function read_state(name)
  local raw = redis.call('HGET', KEYS[1], ARGV[1] .. ':' .. name)
  local ok, state = pcall(cjson.decode, raw or '')
  if ok and type(state) == 'table' and type(state.layers) == 'table' then return state, raw end
end
"""

# KEYS: meta. ARGV: field, token, segment, layers, oldest segment to keep.
_ANNOUNCE_LAYERS = (
    _READ
    + """
for _, name in ipairs({'live', 'building'}) do
  local state = read_state(name)
  if state and state.token == ARGV[2] then
    local layers = {}
    for segment, number in pairs(state.layers) do
      if tonumber(segment) >= tonumber(ARGV[5]) then layers[segment] = number end
    end
    layers[ARGV[3]] = math.max(layers[ARGV[3]] or 0, tonumber(ARGV[4]))
    state.layers = layers
    redis.call('HSET', KEYS[1], ARGV[1] .. ':' .. name, cjson.encode(state))
    return 1
  end
end
return 0
"""
)

# KEYS: meta. ARGV: field, token or '' for any. Returns the removed states.
_DROP = (
    _READ
    + """
local gone = {}
for _, name in ipairs({'live', 'building'}) do
  local state, raw = read_state(name)
  if ARGV[2] == '' or (state and state.token == ARGV[2]) then
    redis.call('HDEL', KEYS[1], ARGV[1] .. ':' .. name)
    if raw then gone[#gone + 1] = raw end
  end
end
return gone
"""
)

# KEYS: meta, lock. ARGV: field, token, the builder's name, new cursor, seconds. Returns 0 if the filter or the lock
# was lost.
_PROGRESS = (
    _READ
    + """
local state = read_state('building')
if not state or state.token ~= ARGV[2] or redis.call('GET', KEYS[2]) ~= ARGV[3] then return 0 end
redis.call('EXPIRE', KEYS[2], ARGV[5])
redis.call('HSET', KEYS[1], ARGV[1] .. ':cursor', ARGV[4])
return 1
"""
)

# KEYS: meta, lock. ARGV: field, token, the builder's name. Returns the old live state; '' if there was none; 0 if the
# new filter or the lock was lost.
_FINISH = (
    _READ
    + """
local state, raw = read_state('building')
if not state or state.token ~= ARGV[2] or redis.call('GET', KEYS[2]) ~= ARGV[3] then return 0 end
local _, old = read_state('live')
redis.call('HSET', KEYS[1], ARGV[1] .. ':live', raw)
redis.call('HDEL', KEYS[1], ARGV[1] .. ':building', ARGV[1] .. ':cursor')
return old or ''
"""
)

# KEYS: meta. ARGV: field, state.
_START = (
    _READ
    + "if not read_state('live') then redis.call('HSET', KEYS[1], ARGV[1] .. ':live', ARGV[2]) end return 0"
)

# KEYS: lock. ARGV: the builder's name.
_RELEASE = (
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
)

# KEYS: meta, lock. Deletes keys of another type, on which every script would fail.
_CLEAR = """
for at, kind in ipairs({'hash', 'string'}) do
  local found = redis.call('TYPE', KEYS[at]).ok
  if found ~= kind and found ~= 'none' then redis.call('DEL', KEYS[at]) end
end
return 0
"""


@dataclass(frozen=True, slots=True)
class Generation:
    """One filter: the token in its keys, and the layers of each segment."""

    token: str
    layers: dict[int, int] = field(default_factory=dict)

    @classmethod
    @lru_cache(maxsize=64)
    def parse(cls, raw: bytes | None) -> "Generation | None":
        """The generation in a stored state; None for garbage, or if there is no state. Cached, because every lookup
        parses the same few states.
        """
        if not raw:
            return None
        try:
            state = json.loads(raw)
            layers = {
                int(segment): int(number) for segment, number in dict(state["layers"]).items()
            }
            return cls(str(state["token"]), layers)
        except (ValueError, KeyError, TypeError):
            return None

    def dump(self) -> str:
        return json.dumps({"token": self.token, "layers": self.layers})


class State(NamedTuple):
    """The live filter of a kind, and the one being built."""

    live: Generation | None = None
    building: Generation | None = None

    @property
    def all(self) -> list[Generation]:
        """The filters that receive marks."""
        return [generation for generation in (self.live, self.building) if generation]


def read_command(names: Iterable[str]) -> Command:
    """The command that reads the states; `parse_states` parses its answer."""
    return ("HMGET", META, *(f"{name}:{part}" for name in names for part in ("live", "building")))


def parse_states(answer: list[bytes | None]) -> list[State]:
    parsed = [Generation.parse(raw) for raw in answer]
    return [State(*pair) for pair in zip(parsed[::2], parsed[1::2], strict=True)]


def read_state(name: str) -> State:
    return parse_states(execute(existence(), [read_command([name])])[0])[0]


def start_filter(name: str) -> None:
    """Start an empty filter, for marks without rows, unless one is live."""
    fresh = Generation(secrets.token_hex(6)).dump()
    run_script(existence(), _START, [META], [name, fresh])


def clear_garbage(name: str) -> None:
    """Delete keys of an unexpected type."""
    run_script(existence(), _CLEAR, [META, _lock(name)], [])


def announce_layers(
    name: str, generation: Generation, segment: int, layers: int, oldest: int
) -> None:
    """Announce how many layers a segment has; the chunks of these layers must exist. Removes segments older than
    `oldest`.
    """
    args = [name, generation.token, segment, layers, oldest]
    run_script(existence(), _ANNOUNCE_LAYERS, [META], args)


def drop_filters(name: str, *, token: str = "") -> list[Generation]:
    """Remove the filters of a kind, or only the filter with this token; returns them. A rebuild makes a new filter."""
    dropped = run_script(existence(), _DROP, [META], [name, token])
    return [generation for generation in map(Generation.parse, dropped) if generation]


def begin_rebuild(name: str) -> tuple[Generation, list[Generation]]:
    """Start a rebuild; returns the new filter, and abandoned filters, whose chunks can be deleted."""
    fresh = Generation(secrets.token_hex(6))
    abandoned = read_state(name).building
    execute(
        existence(),
        [("HSET", META, f"{name}:building", fresh.dump()), ("HDEL", META, f"{name}:cursor")],
    )
    return fresh, [abandoned] if abandoned else []


def rebuild_cursor(name: str) -> str:
    """The builder's position, in its own format; "" at the start."""
    value: bytes | None = execute(existence(), [("HGET", META, f"{name}:cursor")])[0]
    return (value or b"").decode()


def complete_until(name: str) -> int:
    """The Unix time until which the live filter is complete; 0 if unknown.

    It is stored in the same Redis as the marks, so it is lost, or restored from a backup, together with them.
    """
    value: bytes | None = execute(existence(), [("HGET", META, f"{name}:whole")])[0]
    return int(value) if value and value.isdigit() else 0


def set_complete_until(name: str, second: int) -> None:
    execute(existence(), [("HSET", META, f"{name}:whole", second)])


def acquire_rebuild(name: str) -> str | None:
    """Acquire the builder's lease for a minute; returns its token, or None while another process builds.

    If it raises RedisError, the caller has no lease.
    """
    builder = secrets.token_hex(8)
    try:
        won = execute(existence(), [("SET", _lock(name), builder, "NX", "EX", LOCK_SECONDS)])[0]
    except RedisError:  # perhaps only the answer was lost
        with suppress(RedisError):
            release_rebuild(name, builder)
        raise
    return builder if won else None


def save_progress(name: str, generation: Generation, builder: str, reached: str) -> bool:
    """Store the builder's position and extend its lease; False if the lease or the new filter was lost."""
    args = [name, generation.token, builder, reached, LOCK_SECONDS]
    return bool(run_script(existence(), _PROGRESS, [META, _lock(name)], args))


def finish_rebuild(
    name: str, generation: Generation, builder: str
) -> tuple[bool, Generation | None]:
    """Make the rebuilt filter live. Returns whether it and the lease still existed, and the filter that it replaces."""
    args = [name, generation.token, builder]
    old = run_script(existence(), _FINISH, [META, _lock(name)], args)
    return (False, None) if old == 0 else (True, Generation.parse(old))


def release_rebuild(name: str, builder: str) -> None:
    run_script(existence(), _RELEASE, [_lock(name)], [builder])


def _lock(name: str) -> str:
    return f"{META}:lock:{name}"


logger = logging.getLogger(__name__)

# --- a kind of marks, and the chunks of its filters -----------------------------------------------
DAY = 24 * 3600
SLACK_SECONDS = DAY  # a segment outlives the horizon a little
COMMANDS_PER_BATCH = 500


@dataclass(frozen=True, eq=False)
class Marks:
    """One kind of mark. Instances are compared by identity.

    With `has_rows`, there is a database row for each mark, so that unknown marks can be looked up in the database.
    Without rows, lost marks and marks of posts older than the horizon count as not marked.
    """

    kind: str
    horizon_days: int
    has_rows: bool
    sizing: Sizing

    @cached_property
    def name(self) -> str:
        """The kind, the signature of its sizing, and the horizon. Another name means another filter."""
        return f"{self.kind}:{self.sizing.signature}x{self.horizon_days}d"

    @property
    def horizon(self) -> int:
        """The Unix time before which posts are not looked up in the filter."""
        return int(time.time()) - self.horizon_days * DAY

    def segment_of(self, second: int) -> int:
        """The segment of a Unix second."""
        return (second - EPOCH) // self.sizing.segment_seconds

    def key(self, generation: Generation, segment: int, layer: int, chunk: int) -> str:
        """The key of a chunk. The whole name is in braces, so chunks spread over the nodes of a cluster."""
        return f"{NAME}:{{{self.kind}.{generation.token}.{segment}.{layer}.{chunk}}}"

    def keys(self, generation: Generation, segment: int, layer: int) -> Iterator[str]:
        """The keys of all chunks of a layer."""
        return (
            self.key(generation, segment, layer, chunk)
            for chunk in range(self.sizing.chunks_of(layer))
        )


@dataclass(frozen=True, slots=True)
class Fill:
    """The estimated number of records in a segment, and its current false-positive rate."""

    segment: int
    layers: int
    chunks: int
    records: int
    rate: float
    bytes_used: int


def open_layer(marks: Marks, generation: Generation, segment: int, layer: int) -> None:
    """Make the chunks of a layer, then announce the layer, because marks are added only to announced layers."""
    _make(marks, segment, marks.keys(generation, segment, layer))
    oldest = marks.segment_of(marks.horizon - SLACK_SECONDS)
    announce_layers(marks.name, generation, segment, layer + 1, oldest)


def handle_lost(marks: Marks, generation: Generation, lost: Mapping[str, int]) -> None:
    """Handle missing or garbage chunks (key -> segment): drop the filter or, without rows, make the chunks again."""
    logger.warning("the existence filter for %s has lost %s of its chunks", marks.kind, len(lost))
    if marks.has_rows:
        delete_chunks(marks, drop_filters(marks.name, token=generation.token))
        return
    _in_batches(("UNLINK", key) for key in lost)
    for key, segment in lost.items():
        _make(marks, segment, [key])


def _make(marks: Marks, segment: int, keys: Iterable[str]) -> None:
    end = EPOCH + (segment + 1) * marks.sizing.segment_seconds
    expires = end + marks.horizon_days * DAY + SLACK_SECONDS
    # the last bit comes first, because Redis then allocates exactly the size of the chunk
    _in_batches(
        command
        for key in keys
        for command in (("SETBIT", key, PRESENT_BIT, 1), ("EXPIREAT", key, expires))
    )


def delete_chunks(marks: Marks, dropped: Iterable[Generation]) -> None:
    """Delete the chunks of dropped filters."""
    _in_batches(("UNLINK", key) for generation in dropped for key in _all_keys(marks, generation))


def fills(marks: Marks, generation: Generation) -> list[Fill]:
    """How full each segment is, oldest first. This counts every bit, so it is only for staff pages."""
    return [_fill(marks, generation, segment) for segment in sorted(generation.layers)]


def _fill(marks: Marks, generation: Generation, segment: int) -> Fill:
    records, miss, chunks, used = 0.0, 1.0, 0, 0
    layers = generation.layers[segment]
    for layer in range(layers):
        keys = list(marks.keys(generation, segment, layer))
        answers = _in_batches(
            command for key in keys for command in (("BITCOUNT", key), ("MEMORY", "USAGE", key))
        )
        bits = sum(answers[::2]) - len(keys)
        hashes = marks.sizing.hashes_of(layer)
        records += records_in(bits, hashes, len(keys))
        miss *= 1 - (bits / POSITIONS / len(keys)) ** hashes
        chunks, used = chunks + len(keys), used + sum(size or 0 for size in answers[1::2])
    return Fill(segment, layers, chunks, round(records), 1 - miss, used)


def _all_keys(marks: Marks, generation: Generation) -> Iterator[str]:
    for segment, layers in generation.layers.items():
        for layer in range(layers):
            yield from marks.keys(generation, segment, layer)


def _in_batches(commands: Iterable[Command]) -> list[int]:
    everything = list(commands)
    answers: list[int] = []
    for at in range(0, len(everything), COMMANDS_PER_BATCH):
        answers += execute(existence(), everything[at : at + COMMANDS_PER_BATCH])
    return answers


# --- looking up and marking -----------------------------------------------------------------------
MAX_TRIES = 8  # the state of the filters may change between two attempts
MAX_GROUP = 100  # records in one call of `_MARK`, which measures the fill at most once

# KEYS: chunks. ARGV: for each the number of hashes, and positions. Returns a string for each chunk: 1 or 0 for each of
# its records; "" when it was lost.
_CHECK = f"""
local function check(key, step, blob)
  if redis.pcall('GETBIT', key, {PRESENT_BIT}) ~= 1 then return '' end
  local found = {{}}
  for at = 1, #blob, step do
    local all = '1'
    for j = at, at + step - 1, 4 do
      local bit = struct.unpack('<I4', blob, j)
      if redis.call('GETBIT', key, bit) == 0 then all = '0' break end
    end
    found[#found + 1] = all
  end
  return table.concat(found)
end
local answers = {{}}
for k, key in ipairs(KEYS) do answers[k] = check(key, 4 * tonumber(ARGV[2 * k - 1]), ARGV[2 * k]) end
return answers
"""

# KEYS: chunk. ARGV: number of hashes, positions, most bits (0: any). Returns for each record 1 if it was marked before;
# "" if the chunk was lost, "full" if nothing was marked because the chunk has more set bits than allowed.
_MARK = f"""
if redis.pcall('GETBIT', KEYS[1], {PRESENT_BIT}) ~= 1 then return '' end
local most = tonumber(ARGV[3])
if most > 0 and redis.call('BITCOUNT', KEYS[1]) > most then return 'full' end
local step, blob, found = 4 * tonumber(ARGV[1]), ARGV[2], {{}}
for at = 1, #blob, step do
  local all = '1'
  for j = at, at + step - 1, 4 do
    local bit = struct.unpack('<I4', blob, j)
    if redis.call('SETBIT', KEYS[1], bit, 1) == 0 then all = '0' end
  end
  found[#found + 1] = all
end
return table.concat(found)
"""
_FULL = b"full"

_SECOND_SHIFT = AUTHOR_BITS + SEQUENCE_BITS  # the bits of a post id below its second


class Answer(NamedTuple):
    """The requested posts that may be marked, and those for which this is unknown. All others are not marked."""

    perhaps: AbstractSet[int] = frozenset()
    unknown: AbstractSet[int] = frozenset()


class _Group(NamedTuple):
    """The records of one chunk."""

    key: str
    segment: int
    layer: int
    members: list[Record]


_NONE = State()
_states: dict[str, State] = {}  # cached by this process; every lookup compares them with the store


def check_many(user_id: int, wanted: Mapping[Marks, Collection[int]]) -> dict[Marks, Answer]:
    """Which posts one user has marked, for several kinds in one round trip.

    Never raises RedisError: after a failure, the answer is "unknown" (for marks without rows: "no").
    """
    try:
        client = existence()
        for _ in range(MAX_TRIES):
            lookup = _Lookup(client, user_id, wanted)
            if (marked := lookup.parse(execute(client, lookup.commands))) is not None:
                return {marks: _answer(marks, ids, marked[marks]) for marks, ids in wanted.items()}
    except RedisError as error:
        logger.warning("could not read the existence filters: %s", error)
    return {marks: _answer(marks, ids, None) for marks, ids in wanted.items()}


def queue_many(
    batch: Batch, user_id: int, wanted: Mapping[Marks, Collection[int]], *, stage: str = ""
) -> Future[dict[Marks, Answer]]:
    """Queue `check_many` in a batch. It runs again after the batch if that failed, or the cached state was outdated."""
    client = existence()
    lookup = _Lookup(client, user_id, wanted)
    answers = batch.commands(client, lookup.commands, stages=[stage])

    def result() -> dict[Marks, Answer]:
        with suppress(RedisError):
            if not answers.has_failed and (marked := lookup.parse(answers.answers)) is not None:
                return {marks: _answer(marks, ids, marked[marks]) for marks, ids in wanted.items()}
        return check_many(user_id, wanted)

    return result


def mark_many(marks: Marks, pairs: Iterable[Pair]) -> set[Pair]:
    """Mark (user, post) pairs, except posts beyond the horizon. Returns those newly marked. Raises RedisError.

    For marks with rows, call it in the transaction of the row, after the insert, so that the filter is a superset of
    the rows. While no filter is live or being built, such marks are not added, because a rebuild will read the rows.
    """
    # a little beyond the horizon, because a reader's clock may be behind
    wanted = _since(marks.horizon - SLACK_SECONDS // 2, marks, pairs)
    new: set[Pair] = set()
    for _ in range(MAX_TRIES):
        if _mark(marks, wanted, new):
            return new
    raise RedisError("the existence filters change faster than they can be marked")


def _since(
    second: int, marks: Marks, pairs: Iterable[Pair], segments: Collection[int] | None = None
) -> Records:
    """The records of the posts since a Unix second; with `segments`, only those in one of these segments."""
    floor, seconds = second - EPOCH, marks.sizing.segment_seconds
    found: Records = defaultdict(list)
    for user, post in pairs:
        published = post >> _SECOND_SHIFT
        segment = published // seconds
        if published >= floor and (segments is None or segment in segments):
            found[segment].append(record_of(marks.kind, user, post))
    return found


def _answer(marks: Marks, post_ids: Collection[int], marked: set[int] | None) -> Answer:
    """The answer for these posts. `marked` is None if the filter is missing or damaged, or could not be read."""
    if not marks.has_rows:
        return Answer(marked or set())
    if marked is None:
        return Answer(unknown=set(post_ids))
    floor = marks.horizon - EPOCH
    return Answer(marked, {post for post in post_ids if post >> _SECOND_SHIFT < floor})


class _Lookup:
    """One lookup with the cached state of the filters."""

    def __init__(
        self, client: Redis, user_id: int, wanted: Mapping[Marks, Collection[int]]
    ) -> None:
        self._states = {marks: _states.get(marks.name, _NONE) for marks in wanted}
        self._groups: dict[Marks, list[_Group]] = {key: [] for key in wanted}
        for marks, ids in wanted.items():
            live = self._states[marks].live
            if live and live.layers:  # pairs of unopened segments are not hashed
                pairs = [(user_id, one) for one in ids]
                records = _since(marks.horizon, marks, pairs, live.layers)
                self._groups[marks] = _groups(marks, live, records)
        groups = [(marks, group) for marks, found in self._groups.items() for group in found]
        self.commands: list[Command] = [read_command(marks.name for marks in wanted)]
        if is_cluster(client):  # chunks are in different slots
            self.commands += [_check([each]) for each in groups]
        elif groups:
            self.commands.append(_check(groups))

    def parse(self, answers: Sequence[Any]) -> dict[Marks, set[int] | None] | None:
        """The posts whose bits are all set, by kind (see `_answer`); None if the cached state was outdated."""
        state, *checks = answers
        if not _confirmed(self._states, state):
            return None
        left = chain.from_iterable(checks)
        return {
            marks: _found(marks, state.live, self._groups[marks], left)
            for marks, state in self._states.items()
        }


def _found(
    marks: Marks, live: Generation | None, groups: list[_Group], answers: Iterator[Any]
) -> set[int] | None:
    results = [(group, next(answers)) for group in groups]
    if live is None:
        return None
    if lost := {group.key: group.segment for group, answer in results if not answer}:
        handle_lost(marks, live, lost)
        return None
    return {post for group, answer in results for _user, post in _present(group, answer)}


def _mark(marks: Marks, records: Records, new: set[Pair]) -> bool:
    """Mark records, in one round trip if their segments are open.

    Adds the pairs that were not marked before to `new`. Returns False if it must be called again.
    """
    state = _states.get(marks.name, _NONE)
    filters = [(generation, _groups(marks, generation, records)) for generation in state.all]
    commands = [read_command([marks.name])]
    for generation, groups in filters:
        commands += [_check_or_set(marks, generation, group) for group in groups]
    now, *checks = execute(existence(), commands)
    is_known = _confirmed({marks: state}, now)
    answers = iter([answer[0] if isinstance(answer, list) else answer for answer in checks])
    results = [[(group, next(answers)) for group in groups] for _generation, groups in filters]
    if results:
        new |= _new(filters[0][0], results[0])
    if not is_known:
        return False
    if not filters and not marks.has_rows:
        start_filter(marks.name)
        return False
    ready = [
        _is_ready(marks, generation, records, result)
        for (generation, _), result in zip(filters, results, strict=True)
    ]
    return all(ready)


def _new(generation: Generation, results: list[tuple[_Group, Any]]) -> set[Pair]:
    """The pairs that are new: they were marked in the newest layer, and were in no layer before."""
    held: set[Pair] = set()
    taken: set[Pair] = set()
    for group, answer in results:
        held |= _present(group, answer)
        if _is_newest(generation, group) and answer not in {b"", _FULL}:
            taken |= {one.pair for one in group.members}
    return taken - held


def _is_ready(
    marks: Marks,
    generation: Generation,
    records: Records,
    results: list[tuple[_Group, Any]],
) -> bool:
    """Whether a filter accepted all records. If not, open the missing layers, or handle lost chunks."""
    if lost := {group.key: group.segment for group, answer in results if not answer}:
        handle_lost(marks, generation, lost)
        return False
    missing = {(segment, 0) for segment in records if segment not in generation.layers}
    missing |= {(group.segment, group.layer + 1) for group, answer in results if answer == _FULL}
    for segment, layer in missing:
        open_layer(marks, generation, segment, layer)
    return not missing


def _groups(marks: Marks, generation: Generation, records: Records) -> list[_Group]:
    """The records of each chunk of each layer. A segment that was never opened has no chunks."""
    groups: dict[tuple[int, int, int], list[Record]] = defaultdict(list)
    for segment, members in records.items():
        for layer in range(generation.layers.get(segment, 0)):
            chunks = marks.sizing.chunks_of(layer)
            for record in members:
                groups[segment, layer, record.rest % chunks].append(record)
    return [
        _Group(
            marks.key(generation, segment, layer, chunk),
            segment,
            layer,
            members[at : at + MAX_GROUP],
        )
        for (segment, layer, chunk), members in groups.items()
        for at in range(0, len(members), MAX_GROUP)
    ]


def _check(groups: Sequence[tuple[Marks, _Group]]) -> Command:
    """The command that looks up the records of several chunks; in a cluster, of one chunk only."""
    positions = [part for marks, group in groups for part in _positions(marks, group)]
    return ScriptCall(_CHECK, [group.key for _marks, group in groups], positions)


def _check_or_set(marks: Marks, generation: Generation, group: _Group) -> Command:
    if not _is_newest(generation, group):
        return _check([(marks, group)])
    counts = len(group.members) >= MEASURE_EVERY or any(one.is_sampled for one in group.members)
    maximum = int(marks.sizing.full_at * POSITIONS) if counts else 0
    return ScriptCall(_MARK, [group.key], [*_positions(marks, group), maximum])


def _is_newest(generation: Generation, group: _Group) -> bool:
    """Whether a group is in the newest layer of its segment, the only one that is marked."""
    return group.layer + 1 == generation.layers[group.segment]


def _positions(marks: Marks, group: _Group) -> tuple[int, bytes]:
    hashes = marks.sizing.hashes_of(group.layer)
    bits = positions_of(group.members, hashes)
    return hashes, struct.pack(f"<{len(bits)}I", *bits)


def _present(group: _Group, answer: bytes) -> set[Pair]:
    # "1" is odd, "0" is even
    return {one.pair for one, digit in zip(group.members, answer, strict=False) if digit & 1}


def _confirmed(states: Mapping[Marks, State], answer: list[bytes | None]) -> bool:
    """Cache the store's state of these kinds; returns whether it equals the state cached before."""
    now = dict(zip(states, parse_states(answer), strict=True))
    _states.update({marks.name: state for marks, state in now.items()})
    return now == dict(states)
