-- indexes: the sorted sets beside the entries of a place, which answer for ranks and groups. `writer` is
-- direct.lua or a batch.

function indexes.add(writer, board, place, entry)
  local rules = board.rules
  local dense = rules.ranking == 'dense'
  if dense then
    writer:add(place.ranks, place, entry.text, ranks.key(rules, entry))
  elseif rules.ranks_kept then
    writer:add(place.ranks, place, 0, ranks.key(rules, entry) .. entry.id)
  end
  for number, key in ipairs(place.groups) do
    local value = entry.groups[number]
    if value and value ~= '' then
      local member, shared = groups.member(rules, value, entry)
      writer:add(key, place, 0, member)
      if dense then writer:add(key .. ':ranks', place, 0, shared) end
    end
  end
end

-- Whether another entry has the same score and subscore: then one of its neighbours has.
local function is_shared(rules, place, entry)
  if not rules.subscore then return call('ZCOUNT', place.entries, entry.text, entry.text) > 1 end
  local at = call('ZRANK', place.entries, entry.member)
  local near = call('ZRANGE', place.entries, math.max(at - 1, 0), at + 1, 'WITHSCORES')
  local subscore = entry.prefix:sub(1, rules.subscore_length)
  for number = 1, #near, 2 do
    local member, score = near[number], tonumber(near[number + 1])
    if member ~= entry.member and score == entry.score
        and member:sub(1, rules.subscore_length) == subscore then
      return true
    end
  end
  return false
end

-- Must come before the entry itself is removed.
function indexes.remove(writer, board, place, entry)
  local rules = board.rules
  local dense = rules.ranking == 'dense'
  if dense then
    if not is_shared(rules, place, entry) then
      writer:drop(place.ranks, place, ranks.key(rules, entry))
    end
  elseif rules.ranks_kept then
    writer:drop(place.ranks, place, ranks.key(rules, entry) .. entry.id)
  end
  for number, key in ipairs(place.groups) do
    local value = entry.groups[number]
    if value and value ~= '' then
      local member, shared = groups.member(rules, value, entry)
      writer:drop(key, place, member)
      if dense and call('ZLEXCOUNT', key, '[' .. shared, '(' .. shared .. '\255') == 0 then
        writer:drop(key .. ':ranks', place, shared)
      end
    end
  end
end
