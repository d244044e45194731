-- Read a run of neighbouring entries with their ranks and details.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] rules
-- ARGV[2] what: page, rank, user or score
-- ARGV[3] how many at most
-- ARGV[4] page: entries to skip; rank: the rank in the middle; user: the id in the middle;
--         score: entries to skip
-- ARGV[5] details (1) or none (0)
-- ARGV[6], ARGV[7] score: lowest and highest
-- Returns false when the user is not there, else JSON: [size, entries to skip to the first row,
--         matching entries, [[rank, id, score, subscore, microseconds, counter, details], ...]],
--         with scores as text and false for what the board does not keep
-- include rules
-- include ranks
local base, entries = KEYS[1], KEYS[2]
local what, count, wants_details = ARGV[2], tonumber(ARGV[3]), ARGV[5] == '1'
local size = call('ZCARD', entries)
local first, matching = 0, size

-- The window is always full when the board has that many entries, at both ends.
local function around(place)
  return math.max(0, math.min(place - math.floor(count / 2), size - count))
end

if what == 'page' then
  first = tonumber(ARGV[4])
elseif what == 'rank' then
  first = around(tonumber(ARGV[4]) - 1)
elseif what == 'user' then
  local prefix = ''
  if stamped then prefix = call('HGET', entries .. ':at', ARGV[4]) or '' end
  local place = call(RANK, entries, prefix .. ARGV[4])
  if not place then return false end
  first = around(place)
else
  local low, high = ARGV[6], ARGV[7]
  matching = call('ZCOUNT', entries, low, high)
  local better = desc and call('ZCOUNT', entries, '(' .. high, '+inf')
    or call('ZCOUNT', entries, '-inf', '(' .. low)
  local skip = tonumber(ARGV[4])
  first = better + skip
  count = math.max(0, math.min(count, matching - skip))
end

local rows = {}
local found = count > 0 and call(RANGE, entries, first, first + count - 1, 'WITHSCORES') or {}
local rank, last_score, last_sub
for at = 1, #found, 2 do
  local member, score = found[at], found[at + 1]
  local place = first + (at + 1) / 2
  local subscore = with_sub and string.sub(member, 1, 8)
  if ranking == 111 then
    rank = place
  elseif at == 1 then
    rank = rank_of(entries, member, score)
  elseif score ~= last_score or subscore ~= last_sub then
    rank = ranking == 100 and rank + 1 or place
  end
  last_score, last_sub = score, subscore
  local microseconds, counter = false, false
  if timed then
    microseconds, counter = prefix_stamp(member)
    microseconds = string.format('%.0f', microseconds)
    counter = string.format('%.0f', counter)
  end
  local id = stamped and string.sub(member, prefix_length + 1) or member
  local details = {}
  if wants_details then
    local flat = call('HGETALL', base .. ':user:' .. id)
    for field = 1, #flat, 2 do details[flat[field]] = flat[field + 1] end
  end
  rows[#rows + 1] = {
    rank, id, score, with_sub and number_text(prefix_sub(member)), microseconds, counter, details,
  }
end
return cjson.encode({size, first, matching, rows})
