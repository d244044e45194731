-- Move a board's season pointer, if it still stands where the caller believes it does.
--
-- The pointer decides which season a score lands in. Moving it is what freezes a season: from the
-- next command on, every write that believes in the old number is refused.
--
-- KEYS[1] season pointer (hash)
-- KEYS[2] ended seasons that wait for their archive (hash: number → "opens closes ended")
-- KEYS[3] sequence (string)
-- KEYS[4] live channel
-- ARGV[1] season number the caller believes in, '' for no pointer at all
-- ARGV[2] state it believes in
-- ARGV[3] 'over': end the season, only when its time is over; 'end': end it now; 'keep': move
--         without ending one
-- ARGV[4] number, ARGV[5] state, ARGV[6] opens ('' for now), ARGV[7] closes ('' for by hand) of
--         the pointer to be; times in microseconds
-- Returns { 1 when moved, else 0; number, state, opens, closes as they are now }
local pointer = redis.call('HMGET', KEYS[1], 'number', 'state', 'opens', 'closes')
for index = 1, 4 do pointer[index] = pointer[index] or '' end
local number, state, opens, closes = unpack(pointer)
local time = redis.call('TIME')
-- As text: a number this long would lose digits on its way through tostring().
local now = time[1] .. string.rep('0', 6 - #time[2]) .. time[2]
local over = closes ~= '' and tonumber(now) >= tonumber(closes)

if number ~= ARGV[1] or state ~= ARGV[2] or (ARGV[3] == 'over' and not over) then
  return { 0, number, state, opens, closes }
end
if ARGV[3] ~= 'keep' then
  redis.call('HSET', KEYS[2], number, opens .. ' ' .. closes .. ' ' .. (over and closes or now))
end
opens = ARGV[6] ~= '' and ARGV[6] or now
redis.call('HSET', KEYS[1], 'number', ARGV[4], 'state', ARGV[5], 'opens', opens, 'closes', ARGV[7])
local sequence = redis.call('INCR', KEYS[3])
redis.call('SPUBLISH', KEYS[4], string.format(
  '{"seq":%d,"at":%s,"op":"season","season":%s}', sequence, now, ARGV[4]))
return { 1, ARGV[4], ARGV[5], opens, ARGV[7] }
