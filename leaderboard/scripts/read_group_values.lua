-- List the values that the players on a board have in one field of its groups.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] field, ARGV[2] how many values at most
-- Returns the values, in the order of their bytes. Costs O(log N) for each.
local key = KEYS[2] .. ':by:' .. ARGV[1]
local values, from = {}, '-'
for at = 1, tonumber(ARGV[2]) do
  local member = redis.call('ZRANGEBYLEX', key, from, '+', 'LIMIT', 0, 1)[1]
  if not member then break end
  -- A member begins with the value and NUL; the next value is the first behind all of these.
  local value = string.sub(member, 1, string.find(member, '\0', 1, true) - 1)
  values[at] = value
  from = '[' .. value .. '\1'
end
return values
