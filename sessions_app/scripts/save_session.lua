-- Write the changed fields of one session; never brings a deleted session back.
-- KEYS[1]  the session's hash
-- ARGV[1]  'create' (refuse when it exists), 'update' (refuse when it is gone)
--          or 'replace' (as update, and every data field not given here goes)
-- ARGV[2]  time to live in milliseconds, or '' to leave it as it is
-- ARGV[3]  how many fields to remove
-- ARGV[4…] the fields to remove, then field, value, field, value, …
-- Returns  1 when written, 0 when refused
local session, mode, ttl, removals = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local creating = mode == 'create'
if creating or ttl == '' then
  if (redis.call('EXISTS', session) == 1) == creating then
    return 0
  end
elseif redis.call('PEXPIRE', session, ttl) == 0 then
  return 0 -- the answer of PEXPIRE tells in one call whether the session is there
end
if ttl ~= '' and tonumber(ttl) <= 0 then
  return 1 -- an expiry in the past: PEXPIRE has removed it, and there is nothing to create
end

if mode == 'replace' then
  for _, field in ipairs(redis.call('HKEYS', session)) do
    if string.sub(field, 1, 1) == '.' then
      redis.call('HDEL', session, field)
    end
  end
end
-- Lua unpacks some 8,000 values at most; an even step keeps each field with its value.
-- `started` is never removed, so the hash does not vanish, and its time to live with it.
for first = 4, 3 + removals, 1000 do
  redis.call('HDEL', session, unpack(ARGV, first, math.min(first + 999, 3 + removals)))
end
for first = 4 + removals, #ARGV, 1000 do
  redis.call('HSET', session, unpack(ARGV, first, math.min(first + 999, #ARGV)))
end
if creating then
  redis.call('PEXPIRE', session, ttl)
end
return 1
