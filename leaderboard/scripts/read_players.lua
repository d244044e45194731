-- Read the entries of given players.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] rules
-- ARGV[2] details (1) or none (0)
-- ARGV[3...] ids
-- Returns JSON: [size, [[rank, id, score, subscore, microseconds, counter, details, place, better],
--         ...]] for those found, with `place` the ordinal rank and `better` the number of entries
--         with a better score
-- include rules
-- include ranks
local base, entries = KEYS[1], KEYS[2]
local rows = {}
for at = 3, #ARGV do
  local id = ARGV[at]
  local member = id
  if stamped then
    local prefix = call('HGET', entries .. ':at', id)
    member = prefix and prefix .. id
  end
  local score = member and call('ZSCORE', entries, member)
  if score then
    local microseconds, counter = false, false
    if timed then
      microseconds, counter = prefix_stamp(member)
      microseconds = string.format('%.0f', microseconds)
      counter = string.format('%.0f', counter)
    end
    local details = {}
    if ARGV[2] == '1' then
      local flat = call('HGETALL', base .. ':user:' .. id)
      for field = 1, #flat, 2 do details[flat[field]] = flat[field + 1] end
    end
    local place = call(RANK, entries, member) + 1
    local better = desc and call('ZCOUNT', entries, '(' .. score, '+inf')
      or call('ZCOUNT', entries, '-inf', '(' .. score)
    rows[#rows + 1] = {
      ranking == 111 and place or rank_of(entries, member, score), id, score,
      with_sub and number_text(prefix_sub(member)), microseconds, counter, details, place, better,
    }
  end
end
return cjson.encode({call('ZCARD', entries), rows})
