-- floors: Redis's own work, see floors.py.

-- The calls of one submission to a board with `earliest`, windows, event and notice; the player must be
-- on the board and in every window.
local function one(keys, args)
  local base, id, score = keys[1], args[1], args[2]
  local time = call('TIME')
  call('XLEN', base .. ':events')
  call('SISMEMBER', base .. ':hidden', id)
  local old = {}
  for number = 2, #keys do old[number] = call('HGET', keys[number] .. ':at', id) end
  call('HGETALL', base .. ':user:' .. id)
  local sequence = call('INCR', base .. ':seq')
  local now = time[1] * 1000000 + time[2]
  local stamp = struct.pack('>I7I5', 9007199254740991 - now, 1099511627775 - sequence)
  local before = call('ZREVRANK', keys[2], string.sub(old[2], 1, 12) .. id)
  for number = 2, #keys do
    call('ZADD', keys[number], score, stamp .. id)
    call('HSET', keys[number] .. ':at', id, stamp .. score)
    call('ZREM', keys[number], string.sub(old[number], 1, 12) .. id)
  end
  local after = call('ZREVRANK', keys[2], stamp .. id)
  local news = '{"id":"' .. id .. '","rank":' .. after .. ',"previous_rank":' .. before .. '}'
  call('XADD', base .. ':events', 'MAXLEN', '~', 100000, '*', 'event', news)
  call('SPUBLISH', base .. ':live', news)
  return {after, before}
end

register('calls_of_one', one)

-- Many rows at once, and nothing but the sorted sets and what finds the old entry: no ranks, no events,
-- no answers.
local function many(keys, args)
  local time = call('TIME')
  local now = time[1] * 1000000 + time[2]
  local ids = {}
  for row = 1, #args / 2 do ids[row] = args[2 * row - 1] end
  for number = 2, #keys do
    local old = call('HMGET', keys[number] .. ':at', unpack(ids))
    local added, noted, removed = {}, {}, {}
    for row = 1, #ids do
      local id, score = ids[row], args[2 * row]
      local stamp = struct.pack('>I7I5', 9007199254740991 - now, 1099511627775 - row)
      added[2 * row - 1], added[2 * row] = score, stamp .. id
      noted[2 * row - 1], noted[2 * row] = id, stamp .. score
      removed[row] = string.sub(old[row], 1, 12) .. id
    end
    call('ZADD', keys[number], unpack(added))
    call('HSET', keys[number] .. ':at', unpack(noted))
    call('ZREM', keys[number], unpack(removed))
  end
end

register('sorted_sets_of_many', many)

-- What one round trip at least costs: the commands that nobody can do without, and no answer to speak of.
local function bare(keys, args)
  call('ZADD', keys[1], args[1], args[2])
  call('HSET', keys[2], unpack(args, 3))
  return {call('ZREVRANK', keys[1], args[2]), call('ZCARD', keys[1])}
end

register('bare', bare)

local function empty() return 1 end

register('empty', empty)

-- For scale: one write as a tutorial makes it atomic. One sorted set, no windows, no ties, no log.
local function tutorial(keys, args)
  call('ZADD', keys[1], args[2], args[1])
  call('HSET', keys[2], 'name', args[3])
  return {call('ZREVRANK', keys[1], args[1]), call('ZCARD', keys[1])}
end

register('tutorial', tutorial)
