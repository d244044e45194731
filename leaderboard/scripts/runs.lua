-- Runs of neighbouring entries with their ranks and details; needs `rules`, `ranks`, and
-- `columns` or `objects`.
--
-- read_run(what, count, start, low, high): at most `count` entries of KEYS[2]
--   page    after skipping `start`
--   rank    around the rank `start`
--   user    around the player `start`
--   player  the same, and how many have a better score
--   score   with a score from `low` to `high`, after skipping `start` of them
-- Returns false when the player is not there, else a list: size; matching entries, for `player`
-- those with a better score; entries before the first row; rows
local entries = KEYS[2]
local size = call('ZCARD', entries)

local function better_than(score)
  return desc and call('ZCOUNT', entries, '(' .. score, '+inf')
    or call('ZCOUNT', entries, '-inf', '(' .. score)
end

local function read_run(what, count, start, low, high)
  local first, matching = 0, size

  -- The window is always full when the board has that many entries, at both ends.
  local function around(place)
    return math.max(0, math.min(place - math.floor(count / 2), size - count))
  end

  if what == 'page' then
    first = tonumber(start)
  elseif what == 'rank' then
    first = around(tonumber(start) - 1)
  elseif what == 'score' then
    matching = call('ZCOUNT', entries, low, high)
    first = start + better_than(desc and high or low)
    count = math.max(0, math.min(count, matching - start))
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
  return {size, matching, first, take_rows()}
end
