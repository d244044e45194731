-- leases: places among those "at once", see at_once.lua.

-- Make a lease last another full window, if it is still held.
--
-- KEYS    sorted sets of leases, scored by when each ends in microseconds; all in one slot
-- ARGV[1] the id of the lease
-- ARGV[2...] for each key its window in microseconds
-- Returns 1 when all of them still held it, else 0
local function renew(keys, args)
  local time = call('TIME')
  local now, lease, held = time[1] * 1000000 + time[2], args[1], 1
  for number, key in ipairs(keys) do
    local ends, window = call('ZSCORE', key, lease), args[number + 1]
    if ends and tonumber(ends) > now then
      call('ZADD', key, now + window, lease)
      call('PEXPIRE', key, math.ceil(window / 1000))
    else
      held = 0
    end
  end
  return held
end

register('renew', renew)
