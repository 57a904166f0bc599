"""The scripts of `window`: each is one step that nobody sees half done. Members are written newest first."""

# A window without the sentinel ends somewhere in the middle of history: an id beyond its end must not be added,
# or the window would have a hole that looks complete. What is no window is left to the rebuild of the next read.
_ADD = """
local function add(key, member, limit)
  if redis.call('TYPE', key)['ok'] ~= 'zset' then return 0 end
  local last = redis.call('ZRANGE', key, -1, -1)[1]
  if last and last ~= '~' and last ~= '~~' and member > last then return 1 end
  redis.call('ZADD', key, 'NX', 0, member)
  if redis.call('ZCARD', key) > limit then redis.call('ZREMRANGEBYRANK', key, limit, -1) end
  return 1
end
"""

# KEYS: a tombstone per member or none, then (live, building) per reader. ARGV: limit, number of tombstones, members.
PUSH = (
    _ADD
    + """
local limit, number, alive = tonumber(ARGV[1]), tonumber(ARGV[2]), {}
for m = 1, #ARGV - 2 do
  if number == 0 or redis.call('EXISTS', KEYS[m]) == 0 then alive[#alive + 1] = ARGV[m + 2] end
end
if #alive == 0 then return {0, 0} end
local live = 0
for i = number + 1, #KEYS, 2 do
  local found = 0
  for m = 1, #alive do
    found = math.max(found, add(KEYS[i], alive[m], limit), add(KEYS[i + 1], alive[m], limit))
  end
  live = live + found
end
return {live, (#KEYS - number) / 2 - live}
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

# KEYS: live, building, lock. ARGV: token, limit, ttl, complete, members. The snapshot joins what was pushed meanwhile.
# Without the sentinel the window ends where the snapshot does. A building key that lost its placeholder was cut by many
# pushes, and may lack what lies below its own end: then the window ends there.
SWAP = """
if redis.call('GET', KEYS[3]) ~= ARGV[1] or redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
local cut = redis.call('ZREM', KEYS[2], '~~') == 0 and redis.call('ZRANGE', KEYS[2], -1, -1)[1]
for m = #ARGV, 5, -1 do redis.call('ZADD', KEYS[2], 'NX', 0, ARGV[m]) end
if ARGV[4] == '1' then
  redis.call('ZADD', KEYS[2], 0, '~')
elseif #ARGV >= 5 then
  redis.call('ZREMRANGEBYLEX', KEYS[2], '(' .. ARGV[#ARGV], '+')
end
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
