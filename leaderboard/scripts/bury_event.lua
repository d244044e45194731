-- Move an event that cannot be stored to the dead letters, so that those behind it are stored.
--
-- KEYS[1] event stream, KEYS[2] dead letters (stream), KEYS[3] failures (hash: event id → count)
-- ARGV[1] consumer group, ARGV[2] event id, ARGV[3] reason, ARGV[4...] the event's fields
-- Returns the id among the dead letters, or false when somebody else has dealt with the event
redis.call('HDEL', KEYS[3], ARGV[2])
if redis.call('XACK', KEYS[1], ARGV[1], ARGV[2]) == 0 then return false end
return redis.call('XADD', KEYS[2], '*', 'event', ARGV[2], 'reason', ARGV[3], unpack(ARGV, 4))
