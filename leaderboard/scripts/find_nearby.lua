-- Players of a board within a radius, nearest first, with distance, rank, score and details.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- KEYS[3] geo set of places, KEYS[4] sorted set: when each was shared, seconds
-- ARGV[1] rules
-- ARGV[2] longitude, ARGV[3] latitude, ARGV[4] radius, ARGV[5] its unit
-- ARGV[6] how many places to look at, ARGV[7] seconds that a place is kept
-- Returns JSON: [[id, distance, rank, score, [name, value, ...]], ...], numbers with all their
--         digits as text; who is not on the board, or hidden there, is left out
-- include rules
-- include ranks
local entries = KEYS[2]
local oldest = tonumber(call('TIME')[1]) - tonumber(ARGV[7])
local near = call('GEOSEARCH', KEYS[3], 'FROMLONLAT', ARGV[2], ARGV[3], 'BYRADIUS', ARGV[4], ARGV[5],
  'ASC', 'COUNT', ARGV[6], 'WITHDIST')
local found = {}
for _, place in ipairs(near) do
  local id = place[1]
  local member = id
  if stamped then
    local stored = call('HGET', entries .. ':at', id) or ''
    member = string.sub(stored, 1, prefix_length) .. id
  end
  local score = call('ZSCORE', entries, member)
  local shared = score and call('ZSCORE', KEYS[4], id)
  if shared and tonumber(shared) > oldest then
    found[#found + 1] = {
      id, place[2], rank_of(entries, member, score), score, call('HGETALL', KEYS[1] .. ':user:' .. id),
    }
  end
end
return cjson.encode(found)
