-- Note where a player is, and forget those whose time is over.
--
-- KEYS[1] geo set of places, KEYS[2] sorted set: when each was shared, seconds
-- ARGV[1] longitude, ARGV[2] latitude, ARGV[3] the player's id, ARGV[4] seconds that a place is kept
-- Returns the time in seconds
local now = tonumber(redis.call('TIME')[1])
local kept = tonumber(ARGV[4])
local old = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - kept, 'LIMIT', 0, 1000)
if #old > 0 then
  redis.call('ZREM', KEYS[1], unpack(old))
  redis.call('ZREM', KEYS[2], unpack(old))
end
redis.call('GEOADD', KEYS[1], ARGV[1], ARGV[2], ARGV[3])
redis.call('ZADD', KEYS[2], now, ARGV[3])
redis.call('EXPIRE', KEYS[1], kept)
redis.call('EXPIRE', KEYS[2], kept)
return now
