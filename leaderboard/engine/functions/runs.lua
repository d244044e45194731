-- runs: neighbouring entries. A run is
--   size      entries on the board
--   matching  of them, those that were asked for; for `player` those with a better score
--   first     entries before the first one of the run
--   found     member and score, in turn
--   ranks     the rank of each, nil where it follows from `first`
--   follows   for `page` and `score`, while others follow, the bytes before the id of the last one as
--             hex; else false

-- The window is always full when the board has that many entries, at both ends.
local function around(place, count, size)
  return math.max(0, math.min(place - math.floor(count / 2), size - count))
end

-- The ranks of entries found one after the other, the first after `first` others; nil for ordinal ones.
local function ranks_of(board, found, first)
  local rules = board.rules
  if rules.ranking == 'ordinal' then return nil end
  local list, rank, last_score, last_subscore = {}, nil, nil, nil
  for at = 1, #found, 2 do
    local member, score, number = found[at], found[at + 1], (at + 1) / 2
    local subscore = member:sub(1, rules.subscore_length)
    if number == 1 then
      rank = ranks.of(rules, board.main, entries.of_member(rules, member, score))
    elseif score ~= last_score or subscore ~= last_subscore then
      rank = rules.ranking == 'dense' and rank + 1 or first + number
    end
    last_score, last_subscore, list[number] = score, subscore, rank
  end
  return list
end

-- At most `count` entries:
--   page    after skipping `start`, a number, or all up to `start`, a position
--   rank    around the rank `start`
--   user    around the player `start`
--   player  the same, and how many have a better score
--   score   with a score from `low` to `high`, after skipping `start` of them, or all up to it
-- Returns false when the player is not there.
function runs.read(board, size, what, count, start, low, high)
  local rules, place = board.rules, board.main
  local first, matching, last = 0, size, 0
  if what == 'page' then
    first, last = tonumber(start) or positions.entries_until(rules, place, start), size
  elseif what == 'rank' then
    first = around(tonumber(start) - 1, count, size)
  elseif what == 'score' then
    matching = call('ZCOUNT', place.entries, low, high)
    local before = ranks.better(rules, place, rules.desc and high or low)
    first = tonumber(start) and before + start
      or math.max(before, positions.entries_until(rules, place, start))
    last = before + matching
    count = math.max(0, math.min(count, last - first))
  else
    local member = entries.member(board, place, start)
    local before = call(rules.rank_command, place.entries, member)
    if not before then return false end
    first = around(before, count, size)
    if what == 'player' then
      matching = ranks.better(rules, place, call('ZSCORE', place.entries, member))
    end
  end
  local found = count > 0
    and call(rules.range_command, place.entries, first, first + count - 1, 'WITHSCORES') or {}
  return {
    size = size, matching = matching, first = first, found = found,
    ranks = ranks_of(board, found, first),
    follows = #found > 0 and first + #found / 2 < last
      and positions.prefix(rules, found[#found - 1]),
  }
end
