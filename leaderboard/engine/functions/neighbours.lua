-- neighbours: players by where they are.

-- Note where a player is, and forget those whose time is over.
--
-- KEYS[1] geo set of places, KEYS[2] sorted set: when each was shared, seconds
-- ARGV[1] longitude, ARGV[2] latitude, ARGV[3] the player's id, ARGV[4] seconds that a place is kept
-- Returns the time in seconds
local function share_place(keys, args)
  local geo, shared = unpack(keys)
  local longitude, latitude, id, kept = unpack(args)
  local now = tonumber(call('TIME')[1])
  local old = call('ZRANGEBYSCORE', shared, '-inf', now - kept, 'LIMIT', 0, 1000)
  if #old > 0 then
    call('ZREM', geo, unpack(old))
    call('ZREM', shared, unpack(old))
  end
  call('GEOADD', geo, longitude, latitude, id)
  call('ZADD', shared, now, id)
  call('EXPIRE', geo, kept)
  call('EXPIRE', shared, kept)
  return now
end

register('share_place', share_place)

-- Players of a board within a radius, nearest first, with distance, rank, score and details.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- KEYS[3] geo set of places, KEYS[4] sorted set: when each was shared, seconds
-- ARGV[1] rules, see rules.lua
-- ARGV[2] longitude, ARGV[3] latitude, ARGV[4] radius, ARGV[5] its unit
-- ARGV[6] how many places to look at, ARGV[7] seconds that a place is kept
-- Returns JSON: [[id, distance, rank, score, [name, value, ...]], ...], numbers with all their digits as
--         text; who is not on the board, or hidden there, is left out
local function find_nearby(keys, args)
  local board = boards.of({keys[1], keys[2]}, args[1])
  local _, longitude, latitude, radius, unit, most, kept = unpack(args)
  local rules, place = board.rules, board.main
  local oldest = call('TIME')[1] - kept
  local near = call('GEOSEARCH', keys[3], 'FROMLONLAT', longitude, latitude, 'BYRADIUS', radius, unit,
    'ASC', 'COUNT', most, 'WITHDIST')
  local found = {}
  for _, one in ipairs(near) do
    local id, distance = unpack(one)
    local member = entries.member(board, place, id)
    local score = call('ZSCORE', place.entries, member)
    local shared = score and call('ZSCORE', keys[4], id)
    if shared and tonumber(shared) > oldest then
      local rank = ranks.of(rules, place, entries.of_member(rules, member, score))
      found[#found + 1] = {id, distance, rank, score, call('HGETALL', board.user .. id)}
    end
  end
  return cjson.encode(found)
end

register_read('find_nearby', find_nearby)
