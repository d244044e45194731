-- Runs of neighbouring entries with their ranks and details; needs `rules`, `ranks`, `positions`, and
-- `columns` or `objects`.
--
-- read_run(what, count, start, low, high): at most `count` entries of KEYS[2]
--   page    after skipping `start`, a number, or all up to `start`, a position
--   rank    around the rank `start`
--   user    around the player `start`
--   player  the same, and how many have a better score
--   score   with a score from `low` to `high`, after skipping `start` of them, or all up to it
-- Returns false when the player is not there, else a list: size; matching entries, for `player`
-- those with a better score; entries before the first row; rows; for `page` and `score`, while others
-- follow, the bytes before the id of the last row as hex
local entries = KEYS[2]
local size = call('ZCARD', entries)

local function better_than(score)
  return desc and call('ZCOUNT', entries, '(' .. score, '+inf')
    or call('ZCOUNT', entries, '-inf', '(' .. score)
end

-- Whether a member comes before another in the order of equal scores, or is the same. By bytes, as
-- Redis compares: Lua's `<` asks the server's locale.
local function comes_first(member, other)
  local length = timed and prefix_length or math.max(#member, #other)
  for at = 1, length do
    local one, two = string.byte(member, at) or -1, string.byte(other, at) or -1
    if one ~= two then return (one > two) == desc end
  end
  return true
end

-- How many entries stand up to a position. Redis counts by score alone, so the place among equal
-- scores is searched by halves.
local function entries_until(position)
  local score, other = read_position(position)
  local first = better_than(score)
  local last = first + call('ZCOUNT', entries, score, score)
  while first < last do
    local middle = math.floor((first + last) / 2)
    if comes_first(call(RANGE, entries, middle, middle)[1], other) then
      first = middle + 1
    else
      last = middle
    end
  end
  return first
end

local function read_run(what, count, start, low, high)
  local first, matching, last = 0, size, 0

  -- The window is always full when the board has that many entries, at both ends.
  local function around(place)
    return math.max(0, math.min(place - math.floor(count / 2), size - count))
  end

  if what == 'page' then
    first, last = tonumber(start) or entries_until(start), size
  elseif what == 'rank' then
    first = around(tonumber(start) - 1)
  elseif what == 'score' then
    matching = call('ZCOUNT', entries, low, high)
    local before = better_than(desc and high or low)
    last = before + matching
    first = tonumber(start) and before + start or math.max(before, entries_until(start))
    count = math.max(0, math.min(count, last - first))
  else
    local prefix = stamped and call('HGET', entries .. ':at', start) or ''
    local member = string.sub(prefix, 1, prefix_length) .. start
    local place = call(RANK, entries, member)
    if not place then return false end
    first = around(place)
    if what == 'player' then matching = better_than(call('ZSCORE', entries, member)) end
  end

  local found = count > 0 and call(RANGE, entries, first, first + count - 1, 'WITHSCORES') or {}
  if ranking == 111 then
    for at = 1, #found, 2 do put_row(found[at], found[at + 1], first + (at + 1) / 2) end
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
  local follows = #found > 0 and first + #found / 2 < last and prefix_hex(found[#found - 1])
  return {size, matching, first, take_rows(), follows}
end
