-- players: everything that is stored of a row's player.
--
--   hidden    whether the player is hidden
--   entries   for each place the entry, or false; see entries.lua
--   details, covered, same   as details.merged returns them; same is true where nobody asks
--   groups    values of the groups, or nil

local NOBODY_ASKED = {}

-- As details.merged, where anybody asks for them.
function players.details(board, row, wants_details)
  if not wants_details and row.last < row.first and not row.gone then
    return NOBODY_ASKED, true, true
  end
  local merged, covered, same = details.merged(board, row)
  if merged and covered and row.key then
    -- Kept for a replay, whose caller may give other details.
    return {unpack(row.args, row.first, row.last)}, false, same
  end
  return merged, covered, same
end

-- The player of a row; or nil and a code. `stored` is the list of stored texts, which becomes the
-- list of entries.
function players.of(board, row, hidden, stored, wants_details)
  local merged, covered, same = players.details(board, row, wants_details)
  if not merged then return nil, covered end
  local rules, last, entry = board.rules, nil, nil
  local values = rules.groups and groups.values(board, row.id)
  for number = 1, #board.places do
    local text = stored[number]
    if text then
      -- Mostly the same in all places, and looked at once.
      if text ~= last then last, entry = text, entries.of(rules, row.id, text, values) end
      stored[number] = entry
    end
  end
  return {
    hidden = hidden, entries = stored, details = merged, covered = covered, same = same,
    groups = values,
  }
end

-- The same, asking Redis.
function players.find(board, row, wants_details)
  local hidden = call('SISMEMBER', board.hidden, row.id) == 1
  local places, stored = board.places, {}
  for number = 1, #places do
    stored[number] = entries.find(board, places[number], row.id, hidden)
  end
  return players.of(board, row, hidden, stored, wants_details)
end

-- Whether the player has an entry anywhere.
function players.is_known(player)
  for _, entry in ipairs(player.entries) do
    if entry then return true end
  end
  return false
end
