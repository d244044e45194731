-- Write the changed fields of one session; never brings a deleted session back.
-- KEYS[1]  the session's hash
-- ARGV[1]  'create' (refuse when it exists), 'update' (refuse when it is gone)
--          or 'replace' (as update, and every data field not given here goes)
-- ARGV[2]  time to live in milliseconds, or '' to leave it as it is
-- ARGV[3]  how many fields to remove
-- ARGV[4…] the fields to remove, then field, value, field, value, …
-- Returns  1 when written, 0 when refused
local session, mode, ttl, removals = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local exists = redis.call('EXISTS', session) == 1
if exists == (mode == 'create') then
  return 0
end

if mode == 'replace' then
  for _, field in ipairs(redis.call('HKEYS', session)) do
    if string.sub(field, 1, 1) == '.' then
      redis.call('HDEL', session, field)
    end
  end
end

-- Lua unpacks some 8,000 values at most; an even step keeps each field with its value.
local function in_chunks(command, from, to)
  for start = from, to, 1000 do
    redis.call(command, session, unpack(ARGV, start, math.min(start + 999, to)))
  end
end
in_chunks('HDEL', 4, 3 + removals)
in_chunks('HSET', 4 + removals, #ARGV)

if ttl ~= '' then
  redis.call('PEXPIRE', session, ttl) -- zero or less removes it, as an expiry in the past should
end
return 1
