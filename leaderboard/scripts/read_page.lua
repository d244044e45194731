-- Read a run of neighbouring entries with their ranks and details.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] rules
-- ARGV[2] d details, s microseconds and counter, a both
-- ARGV[3] what: page, rank, user or score
-- ARGV[4] how many at most
-- ARGV[5] page and score: entries to skip; rank: the rank in the middle; user: the id in the middle
-- ARGV[6], ARGV[7] score: lowest and highest
-- Returns false when the user is not there, else JSON: [size, matching entries, entries before the
--         first row, columns], as columns.lua describes them
-- include rules
-- include ranks
-- include columns
local entries = KEYS[2]
local what, count = ARGV[3], tonumber(ARGV[4])
local size = call('ZCARD', entries)
local first, matching = 0, size

-- The window is always full when the board has that many entries, at both ends.
local function around(place)
  return math.max(0, math.min(place - math.floor(count / 2), size - count))
end

if what == 'page' then
  first = tonumber(ARGV[5])
elseif what == 'rank' then
  first = around(tonumber(ARGV[5]) - 1)
elseif what == 'user' then
  local id = ARGV[5]
  local prefix = stamped and call('HGET', entries .. ':at', id) or ''
  local place = call(RANK, entries, string.sub(prefix, 1, prefix_length) .. id)
  if not place then return false end
  first = around(place)
else
  local low, high, skip = ARGV[6], ARGV[7], tonumber(ARGV[5])
  matching = call('ZCOUNT', entries, low, high)
  first = skip + (desc and call('ZCOUNT', entries, '(' .. high, '+inf')
    or call('ZCOUNT', entries, '-inf', '(' .. low))
  count = math.max(0, math.min(count, matching - skip))
end

local found = count > 0 and call(RANGE, entries, first, first + count - 1, 'WITHSCORES') or {}
if ranking == 111 then
  for at = 1, #found, 2 do put_row(found[at], found[at + 1]) end
else
  local rank, last_score, last_sub
  for at = 1, #found, 2 do
    local member, score = found[at], found[at + 1]
    local subscore = string.sub(member, 1, sub_length)
    if at == 1 then
      rank = rank_of(entries, member, score)
    elseif score ~= last_score or subscore ~= last_sub then
      rank = ranking == 100 and rank + 1 or first + (at + 1) / 2
    end
    last_score, last_sub = score, subscore
    put_row(member, score, rank)
  end
end
return cjson.encode({size, matching, first, columns})
