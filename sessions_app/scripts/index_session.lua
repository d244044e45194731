-- Put a session into its user's index, drop what has expired, and name what is too much.
-- KEYS[1]  the user's sorted set of sessions
-- ARGV[1]  the session's SHA-256
-- ARGV[2]  when it expires, in seconds since 1970
-- ARGV[3]  how many sessions a user may have
-- Returns  {SHA-256, score, …} of the sessions beyond that number, soonest to expire first
local index, digest = KEYS[1], ARGV[1]
redis.call('ZREMRANGEBYSCORE', index, '-inf', redis.call('TIME')[1])
redis.call('ZADD', index, ARGV[2], digest)
local latest = redis.call('ZRANGE', index, -1, -1, 'WITHSCORES')[2]
redis.call('EXPIREAT', index, math.ceil(tonumber(latest)) + 1)

local surplus = {}
local excess = redis.call('ZCARD', index) - tonumber(ARGV[3])
if excess > 0 then
  local soonest = redis.call('ZRANGE', index, 0, excess, 'WITHSCORES')
  for position = 1, #soonest, 2 do
    if soonest[position] ~= digest and #surplus < 2 * excess then
      surplus[#surplus + 1] = soonest[position]
      surplus[#surplus + 1] = soonest[position + 1]
    end
  end
end
return surplus
