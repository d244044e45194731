-- changes: writing a row that may be written.
--
-- A change is what became of it:
--   sequence       its number on the board, or false where nobody counts
--   entry          the entry on the board itself as it is now, or false
--   previous_rank  or false
--   changed        whether the entry on the board itself is another than before
--   entered        whether the player is new in any place
--   moved          whether anything that a board shows has changed

-- Write the details of a row. Returns the values of the groups now, and whether they are others.
local function write_details(board, row, player)
  details.write(board, row)
  local values = groups.values(board, row.id)
  return values, values and groups.differ(values, player.groups)
end

-- The entry that a row makes of the one before, or of none; the same one when it changes nothing.
local function entry_after(rules, row, old, time, values)
  local old_score, old_subscore = scores.of(rules, old)
  local score, subscore = scores.after(rules, row, old_score, old_subscore)
  if score == old_score and subscore == old_subscore then return old end
  return entries.new(rules, row.id, score, subscore, time, values)
end

-- The player's groups have changed and the entry has not.
local function regroup(writer, board, place, entry, values)
  indexes.remove(writer, board, place, entry)
  indexes.add(writer, board, place, entries.of(board.rules, entry.id, entry.stored, values))
end

function changes.write(writer, board, row, player, now)
  local rules, hidden, places, before = board.rules, player.hidden, board.places, player.entries
  local sequence = rules.numbered and writer:next_sequence(board)
  local main = before[1]
  local previous_rank = main and not hidden and ranks.of(rules, board.main, main)
  local values, regrouped = player.groups, false
  if not player.same then values, regrouped = write_details(board, row, player) end
  local time = stamps.time_bytes(rules, now, sequence)
  local indexed = rules.indexed and not hidden
  local entered, moved, last, entry = false, not player.same and not hidden, nil, nil
  for number = 1, #places do
    local place, old = places[number], before[number]
    if old ~= last then last, entry = old, entry_after(rules, row, old, time, values) end
    if entry ~= old then
      if indexed and old then indexes.remove(writer, board, place, old) end
      writer:put(board, place, hidden, old, entry)
      if indexed then indexes.add(writer, board, place, entry) end
      entered, moved = entered or not old, moved or not hidden
    elseif regrouped and old and not hidden then
      regroup(writer, board, place, old, values)
    end
    if number == 1 then main = entry end
  end
  if sequence then writer:note(board, sequence, moved) end
  return {
    sequence = sequence, entry = main, previous_rank = previous_rank, changed = main ~= before[1],
    entered = entered, moved = moved,
  }
end
