-- ranks: the place of an entry by the board's ranking. Dense ranks, and competition ranks with a
-- subscore, have a sorted set of their own beside the entries, <entries>:ranks.

-- What <entries>:ranks holds of an entry. Dense: each distinct score once, equal subscores belonging to
-- the same rank. Competition: every entry, its score as bytes, because Redis counts by score or by
-- bytes; the id comes after it.
function ranks.key(rules, entry)
  if rules.ranking == 'dense' then
    return numbers.text(entry.score) .. entry.prefix:sub(1, rules.subscore_length)
  end
  return numbers.sortable(entry.score) .. entry.prefix
end

-- How many entries have a better score.
function ranks.better(rules, place, score)
  if rules.desc then return call('ZCOUNT', place.entries, '(' .. score, '+inf') end
  return call('ZCOUNT', place.entries, '-inf', '(' .. score)
end

-- How many entries have a better score, or the same and a better subscore.
local function better_with_subscore(rules, place, entry)
  local shared = numbers.sortable(entry.score) .. entry.prefix:sub(1, rules.subscore_length)
  -- No stamp and no id begins with 0xff.
  if rules.desc then return call('ZLEXCOUNT', place.ranks, '(' .. shared .. '\255', '+') end
  return call('ZLEXCOUNT', place.ranks, '-', '(' .. shared)
end

-- The rank of an entry, or false when it is not there.
function ranks.of(rules, place, entry)
  local before
  if rules.ranking == 'ordinal' then
    before = call(rules.rank_command, place.entries, entry.member)
  elseif rules.ranking == 'dense' then
    before = call(rules.rank_command, place.ranks, ranks.key(rules, entry))
  elseif rules.subscore then
    before = better_with_subscore(rules, place, entry)
  else
    before = ranks.better(rules, place, entry.text)
  end
  return before and before + 1
end

-- How many entries are before the first with a rank.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] rules, see rules.lua
-- ARGV[2] rank
-- Returns a number; all entries when nobody is so far down. Ordinal and competition ranks count entries,
--         so a rank that a tie leaves out is the place that it would be.
local function find_rank(keys, args)
  local board, rank = boards.of(keys, args[1]), tonumber(args[2])
  local rules, place = board.rules, board.main
  local size = call('ZCARD', place.entries)
  if rules.ranking ~= 'dense' then return math.min(rank - 1, size) end
  local score = call(rules.range_command, place.ranks, rank - 1, rank - 1, 'WITHSCORES')[2]
  if not score then return size end
  local first = ranks.better(rules, place, score)
  if not rules.subscore then return first end
  -- Redis does not count by subscore: halve the entries of this score until the first is found.
  local last = first + call('ZCOUNT', place.entries, score, score)
  while first < last do
    local middle = math.floor((first + last) / 2)
    local member = call(rules.range_command, place.entries, middle, middle)[1]
    if ranks.of(rules, place, entries.of_member(rules, member, score)) < rank then
      first = middle + 1
    else
      last = middle
    end
  end
  return first
end

register_read('find_rank', find_rank)
