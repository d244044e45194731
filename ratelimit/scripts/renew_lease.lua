-- Make a lease last another full window, if it is still held.
--
-- KEYS  sorted sets of leases, scored by when each ends in microseconds; all in one slot
-- ARGV  the id of the lease, then for each key its window in microseconds
-- Returns 1 when all of them still held it, else 0
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local held = 1
for position, key in ipairs(KEYS) do
  local ends = redis.call('ZSCORE', key, ARGV[1])
  if ends and tonumber(ends) > now then
    redis.call('ZADD', key, now + ARGV[position + 1], ARGV[1])
    redis.call('PEXPIRE', key, math.ceil(ARGV[position + 1] / 1000))
  else
    held = 0
  end
end
return held
