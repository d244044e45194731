-- entries: a player's score in a place, as {id, prefix, text, member, score, subscore, stored}: the
-- bytes before the id (stamps.lua), the score as text, the member of the sorted set, both numbers, and
-- prefix and text in one, as it is stored. `groups` are the player's values (groups.lua), if there are.

-- The stored text of a player's entry, or false. Entries of hidden players are set aside.
function entries.find(board, place, id, hidden)
  if not board.rules.stamped then
    return call('ZSCORE', hidden and place.aside or place.entries, id)
  end
  local stored = call('HGET', place.stamps, id)
  -- A key of another type must show before anything is written.
  if not stored then call('ZCARD', place.entries) end
  return stored
end

-- The entry of a stored text.
function entries.of(rules, id, stored, values)
  local length = rules.prefix_length
  if length == 0 then
    return {
      id = id, prefix = '', text = stored, member = id, score = tonumber(stored), subscore = 0,
      stored = stored, groups = values,
    }
  end
  local prefix, text = stored:sub(1, length), stored:sub(length + 1)
  return {
    id = id, prefix = prefix, text = text, member = prefix .. id, score = tonumber(text),
    subscore = rules.subscore and stamps.subscore(rules, prefix) or 0, stored = stored,
    groups = values,
  }
end

-- The entry of a member of a sorted set.
function entries.of_member(rules, member, score, values)
  local id, prefix = member:sub(rules.prefix_length + 1), member:sub(1, rules.prefix_length)
  return entries.of(rules, id, prefix .. score, values)
end

-- The member of a player in a place, perhaps of one who is not there, and the text of the score where
-- it is known by now.
function entries.member(board, place, id)
  local stored = board.rules.stamped and call('HGET', place.stamps, id)
  if not stored then return id, nil end
  local length = board.rules.prefix_length
  return stored:sub(1, length) .. id, stored:sub(length + 1)
end

-- A new entry; `time` are the bytes of its time.
function entries.new(rules, id, score, subscore, time, values)
  local prefix = rules.subscore and stamps.prefix(rules, subscore, time) or time
  local text = numbers.text(score)
  return {
    id = id, prefix = prefix, text = text, member = prefix .. id, score = score,
    subscore = subscore, stored = prefix .. text, groups = values,
  }
end

-- A key that has just been made gets the TTL of its place.
function entries.keep_until(key, place)
  if place.expires then call('PEXPIREAT', key, place.expires) end
end
