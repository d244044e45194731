-- How many notices a player has not read.
--
-- KEYS[1] the player's notices (stream)
-- KEYS[2] id of the last one read (string)
-- ARGV[1] count up to this many
-- Returns the number
local read = redis.call('GET', KEYS[2]) or '0-0'
return #redis.call('XRANGE', KEYS[1], '(' .. read, '+', 'COUNT', ARGV[1])
