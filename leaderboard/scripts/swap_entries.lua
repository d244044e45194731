-- Put rebuilt entries in the place of the live ones, all sorted sets of a board in one step, and
-- let writers go on. Nothing is left to be made again.
--
-- KEYS[1] season pointer (hash), KEYS[2] sequence (string), KEYS[3] live channel,
-- KEYS[4...] live sorted sets
-- ARGV[1] the season number and ARGV[2] the state in which the pointer must be, ARGV[3] its state
--         afterwards
-- ARGV[4] the least that the sequence must be
-- ARGV[5...] what is renamed with each sorted set: '', ':at', ':aside', …
-- Returns 1 when swapped, 0 when the season moved meanwhile
local pointer = redis.call('HMGET', KEYS[1], 'number', 'state')
if pointer[1] ~= ARGV[1] or pointer[2] ~= ARGV[2] then return 0 end
for number = 4, #KEYS do
  for at = 5, #ARGV do
    local live, fresh = KEYS[number] .. ARGV[at], KEYS[number] .. ':rebuilt' .. ARGV[at]
    -- Unlinked first: RENAME itself would free a large sorted set while everybody waits.
    redis.call('UNLINK', live)
    if redis.call('EXISTS', fresh) == 1 then redis.call('RENAME', fresh, live) end
  end
end
if tonumber(redis.call('GET', KEYS[2]) or '0') < tonumber(ARGV[4]) then
  redis.call('SET', KEYS[2], ARGV[4])
end
local sequence = redis.call('INCR', KEYS[2])
redis.call('HSET', KEYS[1], 'state', ARGV[3])
redis.call('HDEL', KEYS[1], 'remake')
local time = redis.call('TIME')
redis.call('SPUBLISH', KEYS[3], string.format(
  '{"seq":%d,"at":%s,"op":"reset","season":%s}', sequence,
  time[1] .. string.rep('0', 6 - #time[2]) .. time[2], ARGV[1]))
return 1
