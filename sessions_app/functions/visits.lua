-- visits: which accounts were here on which day, in bitmaps.

-- How many accounts of one day were here on a later day too.
--
-- KEYS[1] bitmap of the day
-- KEYS[2] bitmap of the later day
-- KEYS[3] where the intersection goes, for a minute
-- Returns {active on the day, of them also on the later day}
local function count_returned(keys)
  local day, later, both = unpack(keys)
  local active = call('BITCOUNT', day)
  if active == 0 then return {0, 0} end
  call('BITOP', 'AND', both, day, later)
  call('EXPIRE', both, 60)
  return {active, call('BITCOUNT', both)}
end

register('count_returned', count_returned)
