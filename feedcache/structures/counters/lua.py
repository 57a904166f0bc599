"""The keys in Redis, and the scripts in Lua. Each script declares all its keys; those of one service share a hash tag.

`meta` is a hash about one part of a service's store, a range of ids on one server (usually, the only part):
    floor    buckets below it are cold; puts are stored only while it exists
    whole    the token of the last complete rebuild; while it exists, an id without a record was never counted, if its
             bucket has the mark `hot` or was never begun
    layout   the fields of the records
    run      Redis' run id at the end of the rebuild; if it has another one now, it has restarted since
    swept    cold buckets below it have been dropped
    closed   exists while another server takes the increments, because the part is moving to or from it
    builder  the rebuilding process; `lease` is the end of its lease, `cursor` its position, `on` the server's run id
    b<n>     512 bits: which of the buckets from 512 * n on were begun in this store; shows whether one was lost
A bucket has records under the names of ids. Two other kinds of names begin with a zero byte: the mark (the byte alone),
and the aux dict (the byte, the index of the field, the name of the id): values that are too large for a record, as
decimal numbers. The mark is written first, because Redis searches a small hash from its beginning:
    hot             an id without a record was never counted, as long as the store is whole
    0:              the bucket was begun a second time: its first records are lost, so it must be loaded
    time:token      a process is loading the bucket, and has a lease until that time
    complete:whole  a cold bucket with all its records, unless the store was rebuilt since: then `whole` differs
`dirty` counts, by bucket, the increments that PostgreSQL does not have yet.

Numbers of buckets and values below 10^15 are exact in Lua's doubles; larger values stay decimal text.
"""

# Which buckets were begun: one bit each, 512 of them in a field of `meta`.
BITS = """
local call = redis.call

local function chunk_of(meta, number)
  local chunk, at = 'b' .. string.format('%.0f', math.floor(number / 512)), number % 512
  return chunk, math.floor(at / 8) + 1, 2 ^ (at % 8), call('HGET', meta, chunk) or ''
end

local function was_begun(meta, number)
  local _, at, bit, bits = chunk_of(meta, number)
  return math.floor((string.byte(bits, at) or 0) / bit) % 2 == 1
end

local function set_begun(meta, number, begun)
  local chunk, at, bit, bits = chunk_of(meta, number)
  bits = bits .. string.rep('\\0', at - #bits)
  local byte = string.byte(bits, at)
  if math.floor(byte / bit) % 2 == (begun and 1 or 0) then return end
  bits = string.sub(bits, 1, at - 1) .. string.char(byte + (begun and bit or -bit)) .. string.sub(bits, at + 1)
  if string.find(bits, '[^%z]') then call('HSET', meta, chunk, bits) else call('HDEL', meta, chunk) end
end
"""

# Records. Per field, `limits` has the largest value that fits into a record (larger ones are in the aux dict), and
# `counted` has '1' if the field is counted in Redis, '0' if it is copied from PostgreSQL.
RECORDS = (
    BITS
    + """
local MARK = '\\0'

local function aux(i, name) return MARK .. string.char(i) .. name end

-- the values of a record as decimal texts
local function values(key, name, record)
  local first = string.byte(record, 1)
  local n, out = first % 16, {}
  for i = 1, n do
    local value, scale = 0, 1
    for at = 3 + i, #record, n do
      value = value + string.byte(record, at) * scale
      scale = scale * 256
    end
    out[i] = string.format('%.0f', value)
    if first >= 128 then out[i] = call('HGET', key, aux(i, name)) or out[i] end
  end
  return out
end

local function is_record(text) return text and #text >= 3 and string.byte(text, 1) % 16 > 0 end

local function fits(text, limit) return #text <= 15 and tonumber(text) <= limit end

-- write a record; `had` is the one that was there, or false
local function store(key, name, revision, texts, limits, had)
  local n, first, held, planes = #texts, #texts, {}, {}
  local was_big = had and string.byte(had, 1) >= 128
  for i = 1, n do
    if fits(texts[i], limits[i] or 4294967295) then
      held[i] = tonumber(texts[i])
      if was_big then call('HDEL', key, aux(i, name)) end
    else
      held[i], first = 0, n + 128
      call('HSET', key, aux(i, name), texts[i])
    end
  end
  local left
  repeat
    local plane = {}
    left = false
    for i = 1, n do
      plane[i] = held[i] % 256
      held[i] = (held[i] - plane[i]) / 256
      left = left or held[i] > 0
    end
    planes[#planes + 1] = string.char(unpack(plane))
  until not left
  local body = string.gsub(table.concat(planes), '%z+$', '')
  call('HSET', key, name, string.char(first) .. revision .. body)
end

local function put_aux(key, name, pairs_)
  for i, value in string.gmatch(pairs_, '(%d+):(%d+)') do
    call('HSET', key, aux(tonumber(i), name), value)
  end
end

local function numbers(text)
  local out = {}
  for number in string.gmatch(text, '%d+') do out[#out + 1] = tonumber(number) end
  return out
end

local function revision(record)
  local low, high = string.byte(record, 2, 3)
  return low + 256 * high
end

local function larger(one, other)
  if #one ~= #other then return #one > #other and one or other end
  return one > other and one or other
end

-- put a row of PostgreSQL: the newer revision wins, and a field counted here never goes back
local function merge(key, name, record, pairs_, limits, counted)
  local had = call('HGET', key, name)
  if not is_record(had) then
    call('HSET', key, name, record)
    put_aux(key, name, pairs_)
    return
  end
  local mine = values(key, name, had)
  local theirs = values('', name, string.char(string.byte(record, 1) % 16) .. string.sub(record, 2))
  for i, value in string.gmatch(pairs_, '(%d+):(%d+)') do theirs[tonumber(i)] = value end
  local ahead = (revision(record) - revision(had)) % 65536
  local newer, out = ahead > 0 and ahead < 32768, {}
  for i = 1, math.max(#mine, #theirs) do
    if string.sub(counted, i, i) == '1' then
      out[i] = larger(mine[i] or '0', theirs[i] or '0')
    else
      out[i] = newer and theirs[i] or mine[i] or '0'
    end
  end
  store(key, name, string.sub(newer and record or had, 2, 3), out, limits, had)
end

-- the mark of a cold bucket with all its records
local function complete(whole) return 'complete:' .. (whole or '') end

-- make sure that a hot bucket is there before something is written to it
local function begin(meta, key, number)
  local begun, there = was_begun(meta, number), call('EXISTS', key) == 1
  if not begun then set_begun(meta, number, true) end
  if not there then call('HSET', key, MARK, begun and '0:' or 'hot') end
end

local function now() return tonumber(call('TIME')[1]) end
"""
)


# KEYS: meta, buckets. ARGV: layout, cold ttl seconds, lowest bucket, then per bucket: how many names, names.
# -> {0 lost | 1 not whole, or with other fields}, or {2, per name: record | false | {record, aux values} | -1 not here}
READ = (
    BITS
    + """
local byte = string.byte
local meta = call('HMGET', KEYS[1], 'whole', 'floor', 'layout')
if not meta[1] then return {meta[2] and 1 or 0} end
local ours, stored = ARGV[1], meta[3]
local shared = math.min(#ours, #stored)
if string.sub(ours, 1, shared) ~= string.sub(stored, 1, shared) then return {1} end
local floor, at, out, o = tonumber(meta[2]), 4, {2}, 1
local all_hot, complete = tonumber(ARGV[3]) >= floor, 'complete:' .. meta[1]

-- what a name without a record means: never counted, or not here
local function missing(key, mark, number)
  if number < floor then
    if mark ~= complete then return -1 end
    call('EXPIRE', key, ARGV[2], 'XX')
    return false
  end
  return (mark or was_begun(KEYS[1], number)) and -1
end

for k = 2, #KEYS do
  local key, last = KEYS[k], at + ARGV[at]
  ARGV[at] = '\\0'
  local found = call('HMGET', key, unpack(ARGV, at, last))
  local mark, none, here = found[1], false, true
  if mark ~= 'hot' or not all_hot then
    local number = tonumber(string.match(key, '%x+$'), 16)
    if mark ~= 'hot' or number < floor then none = missing(key, mark, number) end
    here = number >= floor or not none
  end
  for i = 2, last - at + 1 do
    local record = here and found[i]
    o = o + 1
    if not record then
      out[o] = none
    elseif (byte(record, 1) or 0) >= 128 then
      local names = {}
      for f = 1, byte(record, 1) % 16 do names[f] = '\\0' .. string.char(f) .. ARGV[at + i - 1] end
      out[o] = {record, unpack(call('HMGET', key, unpack(names)))}
    else
      out[o] = record
    end
  end
  at = last + 1
end
return out
"""
)

# KEYS: meta, buckets. ARGV: limits, counted, builder ('' for none), lease seconds, cursor, how many buckets, their
# numbers, then per record: index of the bucket, name, record, aux pairs. -> 0 if floor or lease were lost, else 1
# Without a floor nothing is stored; neither are records of a cold bucket that has no key.
PUT = (
    RECORDS
    + """
local meta = call('HMGET', KEYS[1], 'floor', 'builder')
if not meta[1] or (ARGV[3] ~= '' and meta[2] ~= ARGV[3]) then return 0 end
local limits, floor, many = numbers(ARGV[1]), tonumber(meta[1]), tonumber(ARGV[6])
local kept = {}
for k = 1, many do
  local key, number = KEYS[k + 1], tonumber(ARGV[6 + k])
  kept[k] = number >= floor or call('EXISTS', key) == 1
  if number >= floor then begin(KEYS[1], key, number) end
end
for at = 7 + many, #ARGV, 4 do
  local k = tonumber(ARGV[at])
  if kept[k] then merge(KEYS[k + 1], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], limits, ARGV[2]) end
end
if ARGV[3] ~= '' then call('HSET', KEYS[1], 'lease', now() + ARGV[4], 'cursor', ARGV[5]) end
return 1
"""
)

# KEYS: meta, dirty, buckets. ARGV: limits, number of fields, index of the field, how many buckets, their numbers, then
# per id: index of the bucket, name, delta, base record, base aux pairs.
# -> {} lost, or {'closed'}, or per id: value | 'clamped' (to 0) | 'base' (give the row) | 'cold' (load the bucket)
ADD = (
    RECORDS
    + """
local meta = call('HMGET', KEYS[1], 'floor', 'whole', 'closed')
if meta[3] then return {'closed'} end
if not meta[1] then return {} end
local limits, floor, whole = numbers(ARGV[1]), tonumber(meta[1]), meta[2]
local fields, f, many = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local zero = string.char(fields) .. '\\0\\0'

local function added(key, name, delta, record, had)
  local texts = values(key, name, record)
  for i = #texts + 1, fields do texts[i] = '0' end
  local clamped = false
  if fits(texts[f], limits[f]) then
    local sum = tonumber(texts[f]) + tonumber(delta)
    clamped = sum < 0
    texts[f] = string.format('%.0f', math.max(sum, 0))
  else
    local sum = redis.pcall('HINCRBY', key, aux(f, name), delta)  -- 64 bits, which Lua's numbers are not
    if type(sum) == 'table' then call('HSET', key, aux(f, name), '9223372036854775807') end
    texts[f] = call('HGET', key, aux(f, name))
    if string.sub(texts[f], 1, 1) == '-' then clamped, texts[f] = true, '0' end
  end
  store(key, name, string.sub(record, 2, 3), texts, limits, had or record)
  return clamped and 'clamped' or texts[f]
end

local out = {}
for at = 5 + many, #ARGV, 5 do
  local k, name = tonumber(ARGV[at]), ARGV[at + 1]
  local key, number = KEYS[k + 2], tonumber(ARGV[4 + k])
  local hot, mark = number >= floor, call('HGET', key, MARK)
  local record, answer, pairs_ = call('HGET', key, name), nil, ''
  local is_garbage = record and not is_record(record)
  if is_garbage then record = false end
  local had = record
  if not hot and (not mark or mark == 'hot') then
    answer = 'cold'
  elseif not record then
    local is_zero = mark == complete(whole)
    if hot then is_zero = whole and (mark == 'hot' or (not mark and not was_begun(KEYS[1], number))) end
    if is_zero and not is_garbage then
      record = zero
    elseif ARGV[at + 3] ~= '' then
      record, pairs_ = ARGV[at + 3], ARGV[at + 4]
    else
      answer = 'base'
    end
  end
  if not answer then
    if hot then begin(KEYS[1], key, number) end
    put_aux(key, name, pairs_)
    answer = added(key, name, ARGV[at + 2], record, had)
    call('HINCRBY', KEYS[2], ARGV[4 + k], 1)
    if not hot then call('PERSIST', key) end
  end
  out[#out + 1] = answer
end
return out
"""
)

# KEYS: meta. ARGV: token ('' for no lease), lease seconds, floor, layout, run id.
# -> false while another process builds, else {cursor, floor}. A cursor from another run of the server is void.
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

# KEYS: meta. ARGV: token, run id, layout, '1' when complete, or '0' to let another process continue.
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

# KEYS: meta, dirty, bucket.
# ARGV: token, cold ttl seconds, number of the bucket, limits, counted, then name, record, aux pairs.
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

# KEYS: meta, dirty, buckets. ARGV: '1' to drop cold buckets that were loaded, too; numbers. -> how many are still dirty
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
