-- How many entries stand before the first with a rank.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] rules, ARGV[2] rank
-- Returns a number; all entries when nobody is so far down. Ordinal and competition ranks count
--         entries, so a rank that a tie leaves out is the place that it would be.
-- include rules
-- include ranks
local entries, rank = KEYS[2], tonumber(ARGV[2])
local size = call('ZCARD', entries)
if ranking ~= 100 then return math.min(rank - 1, size) end
local score = call(RANGE, entries .. ':ranks', rank - 1, rank - 1, 'WITHSCORES')[2]
if not score then return size end
local first = desc and call('ZCOUNT', entries, '(' .. score, '+inf')
  or call('ZCOUNT', entries, '-inf', '(' .. score)
if not with_sub then return first end
-- Redis does not count by subscore: halve the entries of this score until the first is found.
local last = first + call('ZCOUNT', entries, score, score)
while first < last do
  local middle = math.floor((first + last) / 2)
  if rank_of(entries, call(RANGE, entries, middle, middle)[1], score) < rank then
    first = middle + 1
  else
    last = middle
  end
end
return first
