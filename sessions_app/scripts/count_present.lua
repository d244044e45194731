-- How many viewers are here; a few look-ups in two sorted sets, whatever their size.
-- KEYS[1]  sorted set of accounts
-- KEYS[2]  sorted set of viewers without a name
-- ARGV[1]  seconds after which a viewer counts as gone
-- Returns  the number
local after = '(' .. (redis.call('TIME')[1] - ARGV[1])
return redis.call('ZCOUNT', KEYS[1], after, '+inf') + redis.call('ZCOUNT', KEYS[2], after, '+inf')
