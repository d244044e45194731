-- The accounts that are here, last seen first.
-- KEYS[1]  sorted set of accounts
-- ARGV[1]  seconds after which a viewer counts as gone
-- ARGV[2]  how many to name
-- Returns  the accounts
local after = '(' .. (redis.call('TIME')[1] - ARGV[1])
return redis.call('ZRANGE', KEYS[1], '+inf', after, 'BYSCORE', 'REV', 'LIMIT', 0, ARGV[2])
