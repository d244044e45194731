-- distributions: how the scores of a board are spread.

-- Count the entries of a board in bins of equal width between its lowest and highest score.
--
-- KEYS[1] the board's entries
-- ARGV[1] number of bins
-- Returns a flat list: the lower edge of each bin and its count, then the highest score; empty for an
--         empty board, one bin when all scores are equal
local function read_distribution(keys, args)
  local entries_key, bins = keys[1], tonumber(args[1])
  local low = call('ZRANGE', entries_key, 0, 0, 'WITHSCORES')[2]
  if not low then return {} end
  local high = call('ZRANGE', entries_key, -1, -1, 'WITHSCORES')[2]
  if low == high then return {low, call('ZCARD', entries_key), high} end
  local lowest, highest = tonumber(low), tonumber(high)
  local width = highest / bins - lowest / bins -- the difference alone may be too large for a number
  local answer, edge = {}, low
  for bin = 1, bins do
    local upper = high
    if bin < bins then
      upper = string.format('%.17g', math.min(highest, math.max(tonumber(edge), lowest + width * bin)))
    end
    answer[#answer + 1] = edge
    answer[#answer + 1] = call('ZCOUNT', entries_key, edge, bin < bins and '(' .. upper or upper)
    edge = upper
  end
  answer[#answer + 1] = high
  return answer
end

register_read('read_distribution', read_distribution)
