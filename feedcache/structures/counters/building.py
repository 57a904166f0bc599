"""The state of a store as a whole, and the lease of its builder. All functions raise RedisError."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from feedcache.redis_servers.connections import counters
from feedcache.structures.counters.store import LEASE_SECONDS, BucketLease, CounterStore

# KEYS: meta. ARGV: token ('' for no lease), lease seconds, floor, layout, run id.
# -> false while another process builds, else {cursor, floor}. A cursor of another server's run is void.
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

# KEYS: meta. ARGV: token, run id, layout, '1' when complete, else '0': then another process may continue.
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

NAMES = ("whole", "floor", "layout", "run")  # the fields of meta that `State` has


@dataclass(frozen=True)
class State:
    """The meta keys of the store, and the run id of its server."""

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
    """In one round trip."""
    pipeline = counters().pipeline(transaction=False)
    pipeline.hmget(store.meta_key, NAMES)
    pipeline.info("server")
    values, server = pipeline.execute()
    meta = {name: value.decode() for name, value in zip(NAMES, values, strict=True) if value}
    return State(meta, server["run_id"])


def begin_build(store: CounterStore, floor: int) -> BucketLease | None:
    """Acquire the builder's lease; None while another process has it. Puts are stored from now on."""
    token = secrets.token_hex(8)
    args = [token, LEASE_SECONDS, floor, store.layout, state(store).run]
    answer = store.run(BUILD_BEGIN, [store.meta_key], args)
    return (
        BucketLease(token, int(answer[0]) if answer[0] else None, int(answer[1]))
        if answer
        else None
    )


def expect_build(store: CounterStore, floor: int) -> None:
    """Store puts from now on, whichever process will build."""
    store.run(BUILD_BEGIN, [store.meta_key], ["", 0, floor, store.layout, ""])


def end_build(store: CounterStore, lease: BucketLease, *, complete: bool) -> bool:
    """End a lease: the store is complete, or another process continues. False when the lease was lost."""
    args = [lease.token, state(store).run, store.layout, int(complete)]
    return bool(store.run(BUILD_END, [store.meta_key], args))


def invalidate(store: CounterStore) -> None:
    """From now on a missing record does not mean zero, until the next complete rebuild; puts are stored."""
    counters().hdel(store.meta_key, "whole", "builder", "lease", "cursor", "on")


def adopt(store: CounterStore) -> str | None:
    """Record the layout in use; the name of the former one, if it was another."""
    former = cast("bytes | None", counters().set(store.places_key, store.places.name, get=True))
    return former.decode() if former and former.decode() != store.places.name else None


def forget(store: CounterStore) -> None:
    """Delete the meta keys of a layout that is not used any more."""
    counters().unlink(store.meta_key, store.dirty_key)


def compared_until(store: CounterStore) -> int:
    """The id up to which counts have been compared with their rows; -1 at the beginning."""
    reached = cast("bytes | None", counters().get(store.walk_key))
    return int(reached) if reached else -1


def note_compared_until(store: CounterStore, id_: int) -> None:
    counters().set(store.walk_key, id_)
