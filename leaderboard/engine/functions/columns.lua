-- columns: entries in the form in which they leave: flat, because one list of a thousand values is read
-- faster than a hundred lists.
--
-- Each row: id, score, names and values of details or false; then the rank unless ranks are ordinal; the
-- subscore if the board has one, false for a missing one; microseconds and counter if asked for and
-- kept. Numbers that need all their digits are text.
--
-- `wanted` is what else than score and rank: n nothing, d details, s the time, a all.

function columns.new(board, wanted)
  return {
    board = board, values = {}, details = wanted == 'd' or wanted == 'a',
    time = board.rules.timed and (wanted == 's' or wanted == 'a'),
  }
end

function columns.put(list, member, score, rank)
  local board, values = list.board, list.values
  local rules, size = board.rules, #values
  local id = rules.stamped and member:sub(rules.prefix_length + 1) or member
  values[size + 1], values[size + 2] = id, score
  values[size + 3] = list.details and call('HGETALL', board.user .. id) or false
  size = size + 3
  if rules.ranking ~= 'ordinal' then
    size = size + 1
    values[size] = rank
  end
  if rules.subscore then
    size = size + 1
    values[size] = stamps.subscore_text(rules, stamps.subscore(rules, member))
  end
  if list.time then
    local microseconds, counter = stamps.time(rules, member)
    values[size + 1] = string.format('%d', microseconds)
    values[size + 2] = string.format('%d', counter)
  end
end

-- All entries of a run.
function columns.of_run(board, run, wanted)
  local list = columns.new(board, wanted)
  for at = 1, #run.found, 2 do
    columns.put(list, run.found[at], run.found[at + 1], run.ranks and run.ranks[(at + 1) / 2])
  end
  return list.values
end
