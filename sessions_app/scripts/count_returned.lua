-- How many accounts of one day were here on a later day too.
-- KEYS[1]  bitmap of the day
-- KEYS[2]  bitmap of the later day
-- KEYS[3]  where the intersection goes, for a minute
-- Returns  {active on the day, of them also on the later day}
local active = redis.call('BITCOUNT', KEYS[1])
if active == 0 then
  return {0, 0}
end
redis.call('BITOP', 'AND', KEYS[3], KEYS[1], KEYS[2])
redis.call('EXPIRE', KEYS[3], 60)
return {active, redis.call('BITCOUNT', KEYS[3])}
