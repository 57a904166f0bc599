"""Whole buckets of a store: load cold ones, write back, drop. All functions raise RedisError."""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, cast

from feedcache.redis_servers.connections import counters
from feedcache.structures.counters.lua import RECORDS
from feedcache.structures.counters.schema import IN_AUX, NUMBER, Row
from feedcache.structures.counters.store import LEASE_SECONDS, CounterStore, Values

# KEYS: meta, buckets. ARGV: token, lease seconds, numbers of the buckets. -> per bucket: whether the caller may load it
LOAD_BEGIN = (
    RECORDS
    + """
local meta, out = call('HMGET', KEYS[1], 'floor', 'whole'), {}
local floor = tonumber(meta[1] or 0)
for k = 2, #KEYS do
  local key, number = KEYS[k], tonumber(ARGV[k + 1])
  local mark, mine, lacks = call('HGET', key, MARK), 0, false
  local until_ = mark and tonumber(string.match(mark, '^(%d+):')) or 0
  if number < floor then
    lacks = mark ~= complete(meta[2])
  else
    lacks = mark ~= 'hot' and (mark or was_begun(KEYS[1], number))
  end
  if lacks and until_ < now() then
    local new = call('EXISTS', key) == 0
    call('HSET', key, MARK, (now() + ARGV[2]) .. ':' .. ARGV[1])
    if new and number < floor then call('EXPIRE', key, ARGV[2]) end
    mine = 1
  end
  out[#out + 1] = mine
end
return out
"""
)

# KEYS: meta, dirty, bucket. ARGV: token, cold ttl seconds, number of the bucket, limits, counted, then name, record, aux pairs.
LOAD_END = (
    RECORDS
    + """
local mark, limits = call('HGET', KEYS[3], MARK), numbers(ARGV[4])
if not mark or string.match(mark, ':(.*)$') ~= ARGV[1] then return 0 end
for at = 6, #ARGV, 3 do merge(KEYS[3], ARGV[at], ARGV[at + 1], ARGV[at + 2], limits, ARGV[5]) end
local meta = call('HMGET', KEYS[1], 'floor', 'whole')
if tonumber(ARGV[3]) >= tonumber(meta[1] or 0) then
  call('HSET', KEYS[3], MARK, 'hot')
else
  call('HSET', KEYS[3], MARK, complete(meta[2]))
  if call('HEXISTS', KEYS[2], ARGV[3]) == 0 then call('EXPIRE', KEYS[3], ARGV[2]) end
end
return 1
"""
)

# KEYS: meta. ARGV: floor. -> {floor, swept}, or {} while the store is not whole
EVICT = """
local call = redis.call
local meta = call('HMGET', KEYS[1], 'whole', 'floor', 'swept')
if not meta[1] then return {} end
if tonumber(ARGV[1]) > tonumber(meta[2]) then
  call('HSET', KEYS[1], 'floor', ARGV[1])
  meta[2] = ARGV[1]
end
return {meta[2], meta[3]}
"""

# KEYS: meta, dirty, buckets. ARGV: '1' to drop even what was loaded for a while, numbers. -> how many are still dirty
SWEEP = (
    RECORDS
    + """
local dirty = 0
for k = 3, #KEYS do
  local key, number = KEYS[k], ARGV[k - 1]
  local mark = call('HGET', key, MARK)
  if call('HEXISTS', KEYS[2], number) == 1 then
    dirty = dirty + 1
  elseif ARGV[1] == '1' or not mark or mark == 'hot' or mark == '0:' then
    call('UNLINK', key)
    set_begun(KEYS[1], tonumber(number), false)
  end
end
return dirty
"""
)

# KEYS: meta, dirty, buckets. ARGV: cold ttl seconds, then per bucket: number, how many increments were written.
CLEAN = """
local call = redis.call
local floor = tonumber(call('HGET', KEYS[1], 'floor') or 0)
for k = 3, #KEYS do
  local number = ARGV[2 * k - 4]
  if call('HGET', KEYS[2], number) == ARGV[2 * k - 3] then
    call('HDEL', KEYS[2], number)
    if tonumber(number) < floor and call('HGET', KEYS[k], '\\0') ~= 'hot' then
      call('EXPIRE', KEYS[k], ARGV[1])
    end
  end
end
return 1
"""


class Load(NamedTuple):
    """A cold or lost bucket that this process loads, until the lease of the token ends."""

    bucket: int
    token: str


class Size(NamedTuple):
    """The memory of a bucket in bytes, and about how many records it has."""

    memory: int
    records: int


class Dirty(NamedTuple):
    """A bucket with increments that PostgreSQL does not have: their number, and the values of its records."""

    bucket: int
    increments: int
    values: dict[int, Values]


def begin_load(store: CounterStore, buckets: Collection[int]) -> list[Load]:
    """Acquire those buckets that are missing and not being loaded; puts to them are stored from now on."""
    token = secrets.token_hex(8)
    keys = [store.meta_key, *map(store.key, buckets)]
    won = store.run(LOAD_BEGIN, keys, [token, LEASE_SECONDS, *buckets])
    return [Load(bucket, token) for bucket, is_won in zip(buckets, won, strict=True) if is_won]


def end_load(store: CounterStore, load: Load, rows: Iterable[Row]) -> bool:
    """Put all rows of a bucket, read after `begin_load`, and mark it complete; False when the lease was lost."""
    head = [load.token, store.cold_ttl_seconds, load.bucket, store.limits, store.counted]
    records = [part for row in rows for part in (store.places.place(row.id)[1], *store.packed(row))]
    keys = [store.meta_key, store.dirty_key, store.key(load.bucket)]
    return bool(store.run(LOAD_END, keys, [*head, *records]))


def evict(store: CounterStore, floor: int) -> tuple[int, int] | None:
    """Raise the floor; (floor, up to where cold buckets have been dropped), None while not whole."""
    answer = store.run(EVICT, [store.meta_key], [floor])
    return (int(answer[0]), int(answer[1])) if answer else None


def sweep(store: CounterStore, buckets: Sequence[int], *, loaded_too: bool = False) -> int:
    """Drop buckets without increments that PostgreSQL lacks; how many have some, and stay."""
    keys = [store.meta_key, store.dirty_key, *map(store.key, buckets)]
    return int(store.run(SWEEP, keys, [int(loaded_too), *buckets]))


def swept(store: CounterStore, bucket: int) -> None:
    """Note that all cold buckets below one have been dropped."""
    counters().hset(store.meta_key, "swept", bucket)


def dirty(store: CounterStore, limit: int) -> list[Dirty]:
    # At random: buckets that are counted on all the time must not starve others.
    found = cast("list[bytes]", counters().hrandfield(store.dirty_key, limit, withvalues=True))
    chosen = [(int(found[at]), int(found[at + 1])) for at in range(0, len(found or []), 2)]
    pipeline = counters().pipeline(transaction=False)
    for bucket, _number in chosen:
        pipeline.hgetall(store.key(bucket))
    return [
        Dirty(bucket, number, _records(store, bucket, records))
        for (bucket, number), records in zip(chosen, pipeline.execute(), strict=True)
    ]


def dirty_number(store: CounterStore) -> int:
    return counters().hlen(store.dirty_key)


def clean(store: CounterStore, written: Sequence[Dirty]) -> None:
    """Note the increments that PostgreSQL has now, unless a bucket was counted on meanwhile."""
    keys = [store.meta_key, store.dirty_key, *(store.key(bucket.bucket) for bucket in written)]
    args = [part for bucket in written for part in (bucket.bucket, bucket.increments)]
    store.run(CLEAN, keys, [store.cold_ttl_seconds, *args])


def _records(store: CounterStore, bucket: int, found: Mapping[bytes, bytes]) -> dict[int, Values]:
    values = {}
    for name, record in found.items():
        if name[:1] == b"\0":
            continue
        aux = {}
        if record[0] & IN_AUX:
            named = {
                index: b"\0" + bytes([index + 1]) + name for index in range(record[0] & NUMBER)
            }
            aux = {index: int(found[one]) for index, one in named.items() if one in found}
        values[store.places.id_at((bucket, name))] = store.schema.unpack(record, aux)
    return values


def sizes_of(store: CounterStore, buckets: Sequence[int]) -> list[Size]:
    pipeline = counters().pipeline(transaction=False)
    for bucket in buckets:
        pipeline.memory_usage(store.key(bucket), samples=0)
        pipeline.hlen(store.key(bucket))
    answers = pipeline.execute()
    return [  # the mark is no record
        Size(answers[at] or 0, max(answers[at + 1] - 1, 0)) for at in range(0, len(answers), 2)
    ]
