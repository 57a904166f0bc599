"""The keys in Redis, and the Lua that all scripts share. All keys are declared; those of one service share a hash tag.

`meta` is a hash about the whole store of a service:
    floor    buckets below it are cold; puts are stored only while it exists
    whole    exists after a complete rebuild: an id above the floor without a record was never counted
    layout   the fields of the records
    run      the run id of the server that finished the rebuild
    swept    cold buckets below it have been dropped
    builder  the rebuilding process, with `lease` until when, `cursor` how far, and `on` the run id of the server
    b<n>     512 bits: which of the buckets from 512 * n on were begun in this store, to notice a lost one
A bucket has records under the names of ids, and beside them, under names that begin with a zero byte as no name of an
id does, the mark (the byte alone) and the aux dict (the byte, the index of the field, the name of the id; a decimal
number). The mark comes first, so it is found at once:
    hot             an id without a record was never counted, as long as the store is whole
    0:              begun a second time: its first records are lost, it must be loaded
    time:token      a process loads it, until that time
    complete:whole  a cold one with all its records, provided the store was correct when it was loaded
`dirty` counts, by bucket, the increments that PostgreSQL does not have yet.

Numbers of buckets and values below 10^15 are exact in Lua's doubles; larger values stay decimal text.
"""

# Which buckets were begun: `bits` of 512 of them, byte by byte.
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

# Records. `limits`: the largest value per field; `counted`: '1' per field counted here, else '0'.
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
