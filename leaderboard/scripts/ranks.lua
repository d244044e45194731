-- The rank of a member by the board's ranking; needs `rules`.

-- A distinct score in <entries>:ranks; equal subscores belong to the same rank.
local function rank_key(score, prefix)
  return number_text(score) .. string.sub(prefix, 1, sub_length)
end

-- The place of the first entry whose score and subscore equal those of the entry at `last`.
-- All from `first` to `last` have the same score, and equal subscores stand together.
local function first_equal(entries, first, last, subscore)
  while first < last do
    local middle = math.floor((first + last) / 2)
    local member = call(RANGE, entries, middle, middle)[1]
    if string.sub(member, 1, 8) == subscore then last = middle else first = middle + 1 end
  end
  return first
end

local function rank_of(entries, member, score)
  if ranking == 111 then
    local place = call(RANK, entries, member)
    return place and place + 1
  end
  if ranking == 100 then
    local place = call(RANK, entries .. ':ranks', rank_key(tonumber(score), member))
    return place and place + 1
  end
  local better
  if desc then
    better = call('ZCOUNT', entries, '(' .. score, '+inf')
  else
    better = call('ZCOUNT', entries, '-inf', '(' .. score)
  end
  if with_sub then
    better = first_equal(entries, better, call(RANK, entries, member), string.sub(member, 1, 8))
  end
  return better + 1
end
