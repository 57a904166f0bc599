"""What Redis does with records at once, as Lua. All keys are declared, and those of one service share a hash tag.

`meta` is a hash about the whole store of a service:
    floor    buckets below it are cold; puts are kept only while it is there
    whole    there since a complete rebuild: an id above the floor without a record was never counted
    layout   the fields that the records have
    run      the run id of the server that finished the rebuild
    swept    cold buckets below it have been dropped
    builder  who rebuilds, with `lease` until when, `cursor` how far, and `on` the run id of the server
A bucket has records under the names of ids, and beside them, under names that begin with a zero byte as no name of an
id does: the mark (the byte alone; 'time:token': somebody loads the cold bucket; 'complete:' and what `whole` said then:
it is loaded), and the aux dict (the byte, the index of the field, the name of the id; a decimal number). `dirty` counts, by bucket, the
increments that PostgreSQL does not have yet.

Numbers of buckets and values below 10^15 are exact in Lua's doubles; larger values stay decimal text.
"""

# Records. `limits`: the largest value per field; `counted`: '1' per field that is counted here, else '0'.
RECORDS = """
local call = redis.call
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

-- put what PostgreSQL had: the newer revision wins, and a count kept here never goes back
local function merge(key, name, record, pairs_, limits, counted)
  local had = call('HGET', key, name)
  if not had then
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

-- the mark of a cold bucket that has all its records, as far as the store was right when it was loaded
local function complete(whole) return 'complete:' .. (whole or '') end

local function now() return tonumber(call('TIME')[1]) end
"""

# KEYS: meta, buckets. ARGV: layout, heat seconds, lowest number of a bucket, then per bucket: how many names, names.
# -> {0 lost | 1 not whole}, or {2, per name: record | false | {record, aux values} | -1 cold}
READ = """
local call, byte = redis.call, string.byte
local meta = call('HMGET', KEYS[1], 'whole', 'floor', 'layout')
if not meta[1] then return {meta[2] and 1 or 0} end
local ours, stored = ARGV[1], meta[3]
if ours ~= stored and string.sub(ours, 1, #stored) ~= stored and string.sub(stored, 1, #ours) ~= ours then return {1} end
local floor, at, out, o = tonumber(meta[2]), 4, {2}, 1
local all_hot = tonumber(ARGV[3]) >= floor
for k = 2, #KEYS do
  local key, last, known = KEYS[k], at + ARGV[at], true
  if not all_hot and tonumber(string.match(key, '%x+$'), 16) < floor then
    known = call('HGET', key, '\\0') == 'complete:' .. meta[1]
    if known then call('EXPIRE', key, ARGV[2], 'XX') end
  end
  if known then
    local found = call('HMGET', key, unpack(ARGV, at + 1, last))
    for i = 1, last - at do
      local record = found[i]
      o = o + 1
      if record and byte(record, 1) >= 128 then
        local names = {}
        for f = 1, byte(record, 1) % 16 do names[f] = '\\0' .. string.char(f) .. ARGV[at + i] end
        out[o] = {record, unpack(call('HMGET', key, unpack(names)))}
      else
        out[o] = record
      end
    end
  else
    for _ = at + 1, last do
      o = o + 1
      out[o] = -1
    end
  end
  at = last + 1
end
return out
"""

# KEYS: meta, buckets. ARGV: limits, counted, builder ('' for none), lease seconds, cursor, how many buckets, their
# numbers, then per record: index of the bucket, name, record, aux pairs. -> whether it was kept
# Without a floor nobody keeps or builds counts; a cold bucket that is not loaded is left so.
PUT = (
    RECORDS
    + """
local meta = call('HMGET', KEYS[1], 'floor', 'builder')
if not meta[1] or (ARGV[3] ~= '' and meta[2] ~= ARGV[3]) then return 0 end
local limits, floor, many = numbers(ARGV[1]), tonumber(meta[1]), tonumber(ARGV[6])
local kept = {}
for k = 1, many do
  kept[k] = tonumber(ARGV[6 + k]) >= floor or call('EXISTS', KEYS[k + 1]) == 1
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
# -> {} lost, or per id: value | 'clamped' | 'base' (give PostgreSQL's row) | 'cold' (load the bucket)
ADD = (
    RECORDS
    + """
local meta = call('HMGET', KEYS[1], 'floor', 'whole')
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
  local hot = number >= floor
  local mark = not hot and call('HGET', key, MARK)
  local record = (hot or mark) and call('HGET', key, name)
  local had, answer = record, nil
  if not hot and not mark then
    answer = 'cold'
  elseif not record then
    if (hot and whole) or mark == complete(whole) then
      record = zero
    elseif ARGV[at + 3] ~= '' then
      record = ARGV[at + 3]
      put_aux(key, name, ARGV[at + 4])
    else
      answer = 'base'
    end
  end
  if not answer then
    answer = added(key, name, ARGV[at + 2], record, had)
    call('HINCRBY', KEYS[2], ARGV[4 + k], 1)
    if not hot then call('PERSIST', key) end
  end
  out[#out + 1] = answer
end
return out
"""
)
