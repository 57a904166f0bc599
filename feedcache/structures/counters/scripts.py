"""Atomic operations on records: read, put, count. See `lua` for the keys."""

from feedcache.structures.counters.lua import BITS, RECORDS

# KEYS: meta, buckets. ARGV: layout, cold ttl seconds, lowest number of a bucket, then per bucket: how many names, names.
# -> {0 lost | 1 not whole}, or {2, per name: record | false | {record, aux values} | -1 not here}
READ = (
    BITS
    + """
local byte = string.byte
local meta = call('HMGET', KEYS[1], 'whole', 'floor', 'layout')
if not meta[1] then return {meta[2] and 1 or 0} end
local ours, stored = ARGV[1], meta[3]
if ours ~= stored and string.sub(ours, 1, #stored) ~= stored and string.sub(stored, 1, #ours) ~= ours then return {1} end
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
# numbers, then per record: index of the bucket, name, record, aux pairs. -> whether they were stored
# Without a floor nothing is stored; neither are records of a cold bucket that is not loaded.
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
