-- The rank of a member by the board's ranking; needs `rules`.
local rank_of, rank_key
if ranking == 111 then
  rank_of = function(entries, member)
    local place = call(RANK, entries, member)
    return place and place + 1
  end
elseif ranking == 100 then
  -- A distinct score in <entries>:ranks; equal subscores belong to the same rank.
  rank_key = function(score, prefix)
    return number_text(tonumber(score)) .. string.sub(prefix, 1, sub_length)
  end

  rank_of = function(entries, member, score)
    local place = call(RANK, entries .. ':ranks', rank_key(score, member))
    return place and place + 1
  end
else
  rank_of = function(entries, member, score)
    local first = desc and call('ZCOUNT', entries, '(' .. score, '+inf')
      or call('ZCOUNT', entries, '-inf', '(' .. score)
    if not with_sub then return first + 1 end
    -- From here to the member all have the same score, and equal subscores stand together.
    local last, subscore = call(RANK, entries, member), string.sub(member, 1, 8)
    while first < last do
      local middle = math.floor((first + last) / 2)
      local other = call(RANGE, entries, middle, middle)[1]
      if string.sub(other, 1, 8) == subscore then last = middle else first = middle + 1 end
    end
    return first + 1
  end
end
