"""The scripts of `home_window`, each atomic. Members are written newest first."""

# A window without the sentinel ends somewhere in the middle of history: an id beyond its end must not be added,
# or the window would have a hole that looks complete. A key of another type is left to the next rebuild.
_ADD = """
local function add(key, member, limit, late)
  local last = redis.pcall('ZRANGE', key, -1, -1)
  if last.err or not last[1] then return 0 end
  if last[1] ~= '~' and last[1] ~= '~~' and member > last[1] then return 1 end
  if redis.call('ZADD', key, 'NX', 0, member) == 1 then
    redis.call('ZREMRANGEBYRANK', key, limit, -1)
    if late and redis.call('ZRANGE', key, 0, 0)[1] ~= member then late(key, member) end
  end
  return 1
end
local function push(live, building, members, limit, late)
  local there = redis.call('EXISTS', live, building)
  if there == 0 then return 0 end
  local found = 0
  for _, member in ipairs(members) do
    found = add(live, member, limit, late)
    if found == 0 or there == 2 then found = math.max(found, add(building, member, limit)) end
  end
  return found
end
"""

# Late arrivals: the member by the time at which it came, strictly increasing.
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

# For one server: building the keys here from the readers' ids is a quarter of the work of sending them.
# KEYS: a tombstone per member. ARGV: limit, whether the members are news, prefix, ids of readers divided by commas, members.
PUSH = (
    _ADD
    + _NOTE
    + """
local limit, alive = tonumber(ARGV[1]), {}
for m = 1, #KEYS do
  if redis.call('EXISTS', KEYS[m]) == 0 then alive[#alive + 1] = ARGV[m + 4] end
end
if #alive == 0 then return {0, 0} end
local late = ARGV[2] == '1' and note
local live, readers, prefix = 0, 0, ARGV[3] .. ':{'
for reader in string.gmatch(ARGV[4], '%d+') do
  local key = prefix .. reader .. '}'
  readers, live = readers + 1, live + push(key, key .. ':building', alive, limit, late)
end
return {live, readers - live}
"""
)

# For a cluster: one reader, whose keys are in one slot. KEYS: live, building. ARGV: limit, whether they are news, members.
PUSH_ONE = (
    _ADD
    + _NOTE
    + """
local members = {}
for m = 3, #ARGV do members[m - 2] = ARGV[m] end
return push(KEYS[1], KEYS[2], members, tonumber(ARGV[1]), ARGV[2] == '1' and note)
"""
)

# KEYS: live, building. ARGV: token, ttl. The placeholder keeps the building key in existence.
BEGIN = """
if redis.call('SET', KEYS[3], ARGV[1], 'NX', 'EX', ARGV[2]) == false then return 0 end
redis.call('DEL', KEYS[2])
redis.call('ZADD', KEYS[2], 0, '~~')
redis.call('EXPIRE', KEYS[2], ARGV[2])
return 1
"""

# KEYS: live, building, lock. ARGV: token, limit, ttl, the snapshot as RESTORE takes it. It joins what was pushed meanwhile.
# Without the sentinel the window ends where the snapshot does. A building key that lost its
# placeholder was cut by many pushes, and may lack what lies below its own end: then the window ends there.
# Adding 800 members one by one would block the server for four milliseconds.
SWAP = """
if redis.call('GET', KEYS[3]) ~= ARGV[1] or redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
local cut = redis.call('ZREM', KEYS[2], '~~') == 0 and redis.call('ZRANGE', KEYS[2], -1, -1)[1]
local pushed = redis.call('ZRANGE', KEYS[2], 0, -1)
local last = '~'
if ARGV[4] ~= '' then
  redis.call('RESTORE', KEYS[2], 0, ARGV[4], 'REPLACE')
  last = redis.call('ZRANGE', KEYS[2], -1, -1)[1]
end
for m = #pushed, 1, -1 do redis.call('ZADD', KEYS[2], 'NX', 0, pushed[m]) end
if last ~= '~' then redis.call('ZREMRANGEBYLEX', KEYS[2], '(' .. last, '+') end
if cut then redis.call('ZREMRANGEBYLEX', KEYS[2], '(' .. cut, '+') end
if redis.call('ZCARD', KEYS[2]) > tonumber(ARGV[2]) then redis.call('ZREMRANGEBYRANK', KEYS[2], ARGV[2], -1) end
redis.call('RENAME', KEYS[2], KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
redis.call('DEL', KEYS[3])
return 1
"""


# KEYS: live, building, lock. ARGV: token.
ABANDON = """
if redis.call('GET', KEYS[3]) == ARGV[1] then redis.call('DEL', KEYS[2], KEYS[3]) end
return 0
"""
