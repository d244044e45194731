-- Note that viewers are here now, and forget those who have not been seen for a while.
-- KEYS[1]  sorted set of accounts
-- KEYS[2]  sorted set of viewers without a name
-- ARGV[1]  seconds for which an account is remembered
-- ARGV[2]  seconds for which a viewer without a name is remembered
-- ARGV[3…] viewers; those that begin with 'u:' are accounts
-- Returns  1
local now = tonumber(redis.call('TIME')[1])
local waiting = {{}, {}}

local function note(set)
  if #waiting[set] > 0 then
    redis.call('ZADD', KEYS[set], unpack(waiting[set]))
    waiting[set] = {}
  end
end

for position = 3, #ARGV do
  local set = string.sub(ARGV[position], 1, 2) == 'u:' and 1 or 2
  local pairs_ = waiting[set]
  pairs_[#pairs_ + 1] = now
  pairs_[#pairs_ + 1] = ARGV[position]
  if #pairs_ >= 2000 then -- Lua unpacks some 8,000 values at most
    note(set)
  end
end

for set = 1, 2 do
  note(set)
  local memory = tonumber(ARGV[set])
  redis.call('ZREMRANGEBYSCORE', KEYS[set], '-inf', now - memory)
  redis.call('EXPIRE', KEYS[set], memory)
end
return 1
