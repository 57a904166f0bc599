"""Which filter of a kind of mark is complete: its generations, in one small hash beside the filters.

A filter that was lost and started again would say "no" to earlier marks. So a kind's filter has a random token, stored
under `live` only when the filter holds every row, and lost with the store; a filter that is being rebuilt is stored under
`building`, and marks go to both. The token is part of its keys: two generations never mix. `layers` says how many layers
each segment has; a segment that is missing there was never marked.
"""

import json
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

from feedcache.redis_servers.clients import Command, evalsha, execute
from feedcache.redis_servers.connections import RedisError, existence

NAME = "phantom:1"
META = f"{{{NAME}}}"  # the braces: everything about generations is in one slot of a cluster
LOCK_SECONDS = 60

# Reads garbage as nil.
_READ = """
local function read(name)
  local raw = redis.call('HGET', KEYS[1], ARGV[1] .. ':' .. name)
  local ok, state = pcall(cjson.decode, raw or '')
  if ok and type(state) == 'table' and type(state.layers) == 'table' then return state, raw end
end
"""

# KEYS: meta. ARGV: field, token, segment, layers, oldest segment to keep.
_OPEN = (
    _READ
    + """
for _, name in ipairs({'live', 'building'}) do
  local state = read(name)
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
  local state, raw = read(name)
  if ARGV[2] == '' or (state and state.token == ARGV[2]) then
    redis.call('HDEL', KEYS[1], ARGV[1] .. ':' .. name)
    if raw then gone[#gone + 1] = raw end
  end
end
return gone
"""
)

# KEYS: meta, lock. ARGV: field, token, the builder's name, new cursor, seconds. 0: lost, or somebody else builds.
_PROGRESS = (
    _READ
    + """
local state = read('building')
if not state or state.token ~= ARGV[2] or redis.call('GET', KEYS[2]) ~= ARGV[3] then return 0 end
redis.call('EXPIRE', KEYS[2], ARGV[5])
redis.call('HSET', KEYS[1], ARGV[1] .. ':cursor', ARGV[4])
return 1
"""
)

# KEYS: meta, lock. ARGV: field, token, the builder's name. Answers the old live state, or '', or 0 when it was lost.
_FINISH = (
    _READ
    + """
local state, raw = read('building')
if not state or state.token ~= ARGV[2] or redis.call('GET', KEYS[2]) ~= ARGV[3] then return 0 end
local _, old = read('live')
redis.call('HSET', KEYS[1], ARGV[1] .. ':live', raw)
redis.call('HDEL', KEYS[1], ARGV[1] .. ':building', ARGV[1] .. ':cursor')
return old or ''
"""
)

# KEYS: meta. ARGV: field, state.
_START = (
    _READ
    + "if not read('live') then redis.call('HSET', KEYS[1], ARGV[1] .. ':live', ARGV[2]) end return 0"
)

# KEYS: lock. ARGV: the builder's name.
_RELEASE = (
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
)

# KEYS: meta, lock. Deletes keys of another type: every script would fail on them for ever.
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
        """None for garbage. Cached: every lookup parses the same few states."""
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


@dataclass(frozen=True, slots=True)
class State:
    """The live filter of a kind, and the one being built."""

    live: Generation | None = None
    building: Generation | None = None

    @property
    def all(self) -> list[Generation]:
        """The filters that receive marks."""
        return [generation for generation in (self.live, self.building) if generation]


def read_command(name: str) -> Command:
    """The command whose answer `parse` parses."""
    return ("HMGET", META, f"{name}:live", f"{name}:building")


def parse(answer: list[bytes | None]) -> State:
    return State(Generation.parse(answer[0]), Generation.parse(answer[1]))


def read(name: str) -> State:
    return parse(execute(existence(), [read_command(name)])[0])


def start(name: str) -> None:
    """Start an empty live filter, for marks without rows."""
    fresh = Generation(secrets.token_hex(6)).dump()
    execute(existence(), [evalsha(_START, [META], [name, fresh])])


def clear_garbage(name: str) -> None:
    """Delete keys of another type."""
    execute(existence(), [evalsha(_CLEAR, [META, _lock(name)], [])])


def open_layers(name: str, generation: Generation, segment: int, layers: int, oldest: int) -> None:
    """Announce that a segment has so many layers, whose chunks exist already. Forgets segments older than `oldest`."""
    args = [name, generation.token, segment, layers, oldest]
    execute(existence(), [evalsha(_OPEN, [META], args)])


def drop(name: str, *, token: str = "") -> list[Generation]:
    """Remove the filters of a kind until a rebuild, or the one with a token only; the removed ones."""
    dropped = execute(existence(), [evalsha(_DROP, [META], [name, token])])[0]
    return [generation for generation in map(Generation.parse, dropped) if generation]


def begin(name: str) -> tuple[Generation, list[Generation]]:
    """Start a rebuild: the new filter, and an abandoned one whose chunks can be deleted."""
    fresh = Generation(secrets.token_hex(6))
    abandoned = read(name).building
    execute(
        existence(),
        [("HSET", META, f"{name}:building", fresh.dump()), ("HDEL", META, f"{name}:cursor")],
    )
    return fresh, [abandoned] if abandoned else []


def cursor(name: str) -> str:
    """The builder's position, in its own format; "" at the beginning."""
    value: bytes | None = execute(existence(), [("HGET", META, f"{name}:cursor")])[0]
    return (value or b"").decode()


def complete_until(name: str) -> int:
    """The second until which the live filter is complete; 0 when unknown.

    Lost, or restored from an older file, together with the marks.
    """
    value: bytes | None = execute(existence(), [("HGET", META, f"{name}:whole")])[0]
    return int(value) if value and value.isdigit() else 0


def set_complete_until(name: str, second: int) -> None:
    execute(existence(), [("HSET", META, f"{name}:whole", second)])


def acquire(name: str) -> str | None:
    """Acquire the builder's lease, a minute at a time: its token, or None while another process builds.

    RedisError leaves no lease behind.
    """
    builder = secrets.token_hex(8)
    try:
        won = execute(existence(), [("SET", _lock(name), builder, "NX", "EX", LOCK_SECONDS)])[0]
    except RedisError:  # perhaps only the answer was lost
        with suppress(RedisError):
            release(name, builder)
        raise
    return builder if won else None


def progress(name: str, generation: Generation, builder: str, reached: str) -> bool:
    """Store the builder's position and extend its lease; False when the lease or the store was lost."""
    args = [name, generation.token, builder, reached, LOCK_SECONDS]
    return bool(execute(existence(), [evalsha(_PROGRESS, [META, _lock(name)], args)])[0])


def finish(name: str, generation: Generation, builder: str) -> tuple[bool, Generation | None]:
    """Make the rebuilt filter live; whether it still existed, and the filter that it replaces."""
    args = [name, generation.token, builder]
    old = execute(existence(), [evalsha(_FINISH, [META, _lock(name)], args)])[0]
    return (False, None) if old == 0 else (True, Generation.parse(old))


def release(name: str, builder: str) -> None:
    execute(existence(), [evalsha(_RELEASE, [_lock(name)], [builder])])


def _lock(name: str) -> str:
    return f"{META}:lock:{name}"
