"""The state of a store as a whole, and turns at building it. RedisError is the caller's."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from feedcache.redis_servers.connections import counters
from feedcache.structures.counters.store import LEASE_SECONDS, BucketLease, CounterStore

# KEYS: meta. ARGV: token ('' to take no turn), lease seconds, floor, layout, run id.
# -> false when somebody else builds, else {cursor, floor}. What another server built may have been lost with it.
BUILD_BEGIN = """
local call = redis.call
local time = tonumber(call('TIME')[1])
local meta = call('HMGET', KEYS[1], 'builder', 'lease', 'floor', 'cursor', 'on')
if not meta[3] then
  call('HSET', KEYS[1], 'floor', ARGV[3], 'swept', ARGV[3], 'layout', ARGV[4])
  meta[3] = ARGV[3]
end
if ARGV[1] == '' then return {'', meta[3]} end
if meta[5] ~= ARGV[5] then
  call('HDEL', KEYS[1], 'cursor')
  meta[4] = false
elseif meta[1] and tonumber(meta[2]) > time then
  return false
end
call('HSET', KEYS[1], 'builder', ARGV[1], 'lease', time + ARGV[2], 'on', ARGV[5])
return {meta[4] or '', meta[3]}
"""

# KEYS: meta. ARGV: token, run id, layout, '1' when all is built, else '0': then somebody else may go on.
BUILD_END = """
local call = redis.call
local meta = call('HMGET', KEYS[1], 'builder', 'on')
if meta[1] ~= ARGV[1] or meta[2] ~= ARGV[2] then return 0 end
if ARGV[4] == '1' then
  call('HSET', KEYS[1], 'whole', ARGV[1], 'run', ARGV[2], 'layout', ARGV[3])
  call('HDEL', KEYS[1], 'builder', 'lease', 'cursor', 'on')
else
  call('HSET', KEYS[1], 'lease', 0)
end
return 1
"""

NAMES = ("whole", "floor", "layout", "run")  # of meta, those that the outside looks at


@dataclass(frozen=True)
class State:
    """What the store says of itself, and which server it is on."""

    meta: Mapping[str, str]
    run: str

    @property
    def is_complete(self) -> bool:
        """Whether a missing record means zero."""
        return "whole" in self.meta

    @property
    def floor(self) -> int | None:
        """Buckets below it are cold."""
        return int(self.meta["floor"]) if "floor" in self.meta else None


def state(store: CounterStore) -> State:
    """What is known of the store, in one round trip."""
    pipeline = counters().pipeline(transaction=False)
    pipeline.hmget(store.meta_key, NAMES)
    pipeline.info("server")
    values, server = pipeline.execute()
    meta = {name: value.decode() for name, value in zip(NAMES, values, strict=True) if value}
    return State(meta, server["run_id"])


def begin_build(store: CounterStore, floor: int) -> BucketLease | None:
    """Take a turn at building; None while somebody else has it. Puts are kept from here on."""
    token = secrets.token_hex(8)
    args = [token, LEASE_SECONDS, floor, store.layout, state(store).run]
    said = store.run(BUILD_BEGIN, [store.meta_key], args)
    return BucketLease(token, int(said[0]) if said[0] else None, int(said[1])) if said else None


def expect_build(store: CounterStore, floor: int) -> None:
    """Keep puts from here on, whoever will build."""
    store.run(BUILD_BEGIN, [store.meta_key], ["", 0, floor, store.layout, ""])


def end_build(store: CounterStore, turn: BucketLease, *, whole: bool) -> bool:
    """End a turn: the store is whole, or somebody goes on where this turn ends. False when the turn was lost."""
    args = [turn.token, state(store).run, store.layout, int(whole)]
    return bool(store.run(BUILD_END, [store.meta_key], args))


def invalidate(store: CounterStore) -> None:
    """From here on a missing record means nothing, until another rebuild is complete; puts are kept."""
    counters().hdel(store.meta_key, "whole", "builder", "lease", "cursor", "on")


def adopt(store: CounterStore) -> str | None:
    """Note which places are in use; the name of the former ones, when they were others."""
    former = cast("bytes | None", counters().set(store.places_key, store.places.name, get=True))
    return former.decode() if former and former.decode() != store.places.name else None


def forget(store: CounterStore) -> None:
    """Drop what is known of the store; of places that are not used any more."""
    counters().unlink(store.meta_key, store.dirty_key)


def walked(store: CounterStore) -> int:
    """The id up to which the counts have been compared with their rows; -1 at the beginning of a walk."""
    reached = cast("bytes | None", counters().get(store.walk_key))
    return int(reached) if reached else -1


def note_walked(store: CounterStore, id_: int) -> None:
    """Note how far the walk has come."""
    counters().set(store.walk_key, id_)
