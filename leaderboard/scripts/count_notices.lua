-- How many notices a player has not read, by board: who may not see a board any more must not
-- learn that something happened there.
--
-- KEYS[1] the player's notices (stream)
-- KEYS[2] id of the last one read (string)
-- ARGV[1] count up to this many
-- Returns slugs and numbers in turn
local read = redis.call('GET', KEYS[2]) or '0-0'
local counts, found = {}, {}
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '(' .. read, '+', 'COUNT', ARGV[1])) do
  local board = cjson.decode(entry[2][2]).board
  counts[board] = (counts[board] or 0) + 1
end
for board, count in pairs(counts) do
  found[#found + 1], found[#found + 2] = board, count
end
return found
