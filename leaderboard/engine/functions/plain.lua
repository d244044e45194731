-- plain: submissions to a board without further rules: ties by id, ordinal ranks, no events. What
-- submissions.lua does with entries and changes is here a score and a rank, in a fifth less time.

-- The text of the score after a row, `old` being the one before or false; or nil and a code.
local function score_after(rules, row, old)
  local before = old and tonumber(old) or nil
  local score = scores.after(rules, row, before, 0)
  if not score then return nil, 'unknown_player' end
  if score - score ~= 0 then return nil, 'score_overflow' end
  return score == before and old or numbers.text(score)
end

-- One row, as in submissions.lua.
function plain.submit(board, row, wants_details)
  local rules, main = board.rules, board.main
  local hidden = call('SISMEMBER', board.hidden, row.id) == 1
  local key = hidden and main.aside or main.entries
  local old = call('ZSCORE', key, row.id)
  local known, covered, same = players.details(board, row, wants_details)
  if not known then return covered end
  local text, code = score_after(rules, row, old)
  if code then return code end

  local previous_rank = old and not hidden and call(rules.rank_command, key, row.id) + 1
  local changed, trimmed, rank = text ~= old, false, previous_rank
  if changed then call('ZADD', key, text, row.id) end
  if not same then details.write(board, row) end
  if rules.limit and not old and not hidden then trimmed = trims.place(board, main) end
  if changed and not hidden then
    rank = call(rules.rank_command, key, row.id)
    rank = rank and rank + 1
  end
  local answer = {
    0, rank, text, previous_rank, old, changed and 1 or 0, false, false,
    wants_details and not covered and known, trimmed,
  }
  if row.key then replays.keep(board, row, answer) end
  return answer
end
