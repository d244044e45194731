-- The rank of a member by the board's ranking; needs `rules`. Dense ranks, and competition ranks
-- with a subscore, have a sorted set of their own beside the entries, <entries>:ranks.
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
elseif not with_sub then
  rank_of = function(entries, _, score)
    return 1 + (desc and call('ZCOUNT', entries, '(' .. score, '+inf')
      or call('ZCOUNT', entries, '-inf', '(' .. score))
  end
else
  -- Redis counts by score or by bytes: <entries>:ranks has every entry with its score as bytes.
  rank_key = function(score, prefix) return sortable(tonumber(score)) .. prefix end

  rank_of = function(entries, member, score)
    local shared = rank_key(score, string.sub(member, 1, sub_length))
    -- No stamp and no id begins with 0xff.
    return 1 + (desc and call('ZLEXCOUNT', entries .. ':ranks', '(' .. shared .. '\255', '+')
      or call('ZLEXCOUNT', entries .. ':ranks', '-', '(' .. shared))
  end
end
