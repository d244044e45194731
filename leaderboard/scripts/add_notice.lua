-- Keep a notice for a player and tell the player's open pages, unless it was told lately.
--
-- KEYS[1] the player's notices (stream)
-- KEYS[2] mark that this was told (string)
-- ARGV[1] seconds for which the same is not told again, 0 to tell always
-- ARGV[2] seconds for which notices are kept
-- ARGV[3] how many are kept at most, about
-- ARGV[4] the notice as JSON
-- ARGV[5] the player's id
-- ARGV[6] channel of all notices: not a key, it lives in no slot
-- Returns the notice's id, or false when it was told already
if ARGV[1] ~= '0' and not redis.call('SET', KEYS[2], '1', 'NX', 'EX', ARGV[1]) then
  return false
end
local oldest = (redis.call('TIME')[1] - tonumber(ARGV[2])) * 1000
local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[3], '*', 'notice', ARGV[4])
redis.call('XTRIM', KEYS[1], 'MINID', string.format('%.0f', oldest))
redis.call('EXPIRE', KEYS[1], ARGV[2])
redis.call('PUBLISH', ARGV[6], string.format(
  '{"player":%s,"id":"%s","notice":%s}', cjson.encode(ARGV[5]), id, ARGV[4]))
return id
