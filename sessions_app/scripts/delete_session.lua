-- Delete one session and tell open streams that it ended.
-- KEYS[1]  the session's hash
-- ARGV[1]  its SHA-256, which is what the message says
-- ARGV[2]  the channel
-- ARGV[3]  the user it must belong to, or '' for whomever
-- Returns  nil when there was nothing to delete, else its user id ('' for nobody's)
if redis.call('EXISTS', KEYS[1]) == 0 then
  return false
end
local user = redis.call('HGET', KEYS[1], 'user') or ''
if ARGV[3] ~= '' and ARGV[3] ~= user then
  return false
end
redis.call('DEL', KEYS[1])
if user ~= '' then
  redis.call('PUBLISH', ARGV[2], ARGV[1])
end
return user
