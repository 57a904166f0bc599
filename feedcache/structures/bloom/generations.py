"""Which filter of a kind of mark may be believed: its generations, in one small hash beside the filters.

A filter that was lost and begun anew would say "no" to what was marked before. So a kind's filter has a random token,
written under `live` only when the filter holds every row, and lost with the store; a filter that is being rebuilt
stands under `building`, and marks go to both. The token is in the names of its keys: two generations never mix.
Layers say how many a segment has; a segment that is not named there was never marked.
"""

import json
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

from feedcache.redis_servers.clients import Command, call, trip
from feedcache.redis_servers.connections import RedisError, existence

NAME = "phantom:1"
META = f"{{{NAME}}}"  # the braces: everything about generations is in one slot of a cluster
LOCK_SECONDS = 60

# Garbage is nothing.
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

# KEYS: meta. ARGV: field, token or '' for whatever there is. Takes back the trust; answers what was there.
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

# KEYS: meta, lock. Clears away what is of another type: it would stop everything for ever.
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
    @lru_cache(maxsize=64)  # every look reads the same few states: a tenth of what it costs to look
    def parse(cls, raw: bytes | None) -> "Generation | None":
        """From what the hash holds; garbage is nothing."""
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
        """As the hash holds it."""
        return json.dumps({"token": self.token, "layers": self.layers})


@dataclass(frozen=True, slots=True)
class State:
    """What is known of a kind: the filter that is believed, and the one being built."""

    live: Generation | None = None
    building: Generation | None = None

    @property
    def all(self) -> list[Generation]:
        """Where a mark goes."""
        return [one for one in (self.live, self.building) if one]


def ask(name: str) -> Command:
    """The command whose answer `parse` reads: what is known of a kind."""
    return ("HMGET", META, f"{name}:live", f"{name}:building")


def parse(answer: list[bytes | None]) -> State:
    """The answer of `ask`."""
    return State(Generation.parse(answer[0]), Generation.parse(answer[1]))


def read(name: str) -> State:
    """What is known of a kind now."""
    return parse(trip(existence(), [ask(name)])[0])


def start(name: str) -> None:
    """Begin a filter that is believed from the start: of marks that have no rows behind them."""
    fresh = Generation(secrets.token_hex(6)).dump()
    trip(existence(), [call(_START, [META], [name, fresh])])


def clear_garbage(name: str) -> None:
    """Delete what is of another type than it should be."""
    trip(existence(), [call(_CLEAR, [META, _lock(name)], [])])


def open_layers(name: str, generation: Generation, segment: int, layers: int, oldest: int) -> None:
    """Make known that a segment has so many layers; their chunks exist already. Forgets what is older than `oldest`."""
    args = [name, generation.token, segment, layers, oldest]
    trip(existence(), [call(_OPEN, [META], args)])


def drop(name: str, *, token: str = "") -> list[Generation]:
    """Believe nothing of a kind until it is rebuilt; with a token only when it is that filter's. What was dropped."""
    gone = trip(existence(), [call(_DROP, [META], [name, token])])[0]
    return [one for one in map(Generation.parse, gone) if one]


def begin(name: str) -> tuple[Generation, list[Generation]]:
    """Start a rebuild from nothing: the new filter, and an abandoned one that can be deleted."""
    fresh = Generation(secrets.token_hex(6))
    abandoned = read(name).building
    trip(
        existence(),
        [("HSET", META, f"{name}:building", fresh.dump()), ("HDEL", META, f"{name}:cursor")],
    )
    return fresh, [abandoned] if abandoned else []


def cursor(name: str) -> str:
    """How far the rebuild is, in the builder's own words; "" at its beginning."""
    found: bytes | None = trip(existence(), [("HGET", META, f"{name}:cursor")])[0]
    return (found or b"").decode()


def complete_until(name: str) -> int:
    """The second until which the believed filter is known to lack nothing; 0 when that is not known.

    It is lost, or goes back in time, together with the marks.
    """
    found: bytes | None = trip(existence(), [("HGET", META, f"{name}:whole")])[0]
    return int(found) if found and found.isdigit() else 0


def set_complete_until(name: str, second: int) -> None:
    """Note that the believed filter lacks nothing up to a second."""
    trip(existence(), [("HSET", META, f"{name}:whole", second)])


def take(name: str) -> str | None:
    """Become the only builder for a minute at a time: one's name, or None while somebody else is. RedisError leaves no lock."""
    builder = secrets.token_hex(8)
    try:
        won = trip(existence(), [("SET", _lock(name), builder, "NX", "EX", LOCK_SECONDS)])[0]
    except RedisError:  # perhaps only the answer was lost
        with suppress(RedisError):
            release(name, builder)
        raise
    return builder if won else None


def progress(name: str, generation: Generation, builder: str, reached: str) -> bool:
    """Note how far the rebuild is; False when it was lost with the store, or taken over."""
    args = [name, generation.token, builder, reached, LOCK_SECONDS]
    return bool(trip(existence(), [call(_PROGRESS, [META, _lock(name)], args)])[0])


def finish(name: str, generation: Generation, builder: str) -> tuple[bool, Generation | None]:
    """Believe the rebuilt filter from now on; whether it still was there, and the filter that it replaces."""
    args = [name, generation.token, builder]
    old = trip(existence(), [call(_FINISH, [META, _lock(name)], args)])[0]
    return (False, None) if old == 0 else (True, Generation.parse(old))


def release(name: str, builder: str) -> None:
    """Let others build."""
    trip(existence(), [call(_RELEASE, [_lock(name)], [builder])])


def _lock(name: str) -> str:
    return f"{META}:lock:{name}"
