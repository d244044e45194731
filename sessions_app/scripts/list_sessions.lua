-- The sessions in a user's index.
-- KEYS[1]  the user's sorted set of sessions
-- ARGV[1]  how many at most
-- Returns  {SHA-256, score, …}, soonest to expire first
return redis.call('ZRANGE', KEYS[1], 0, ARGV[1] - 1, 'WITHSCORES')
