-- direct: a writer that makes each change at once, for a single row. A batch (batches.lua) has the same
-- functions and gathers changes.

-- Whether other rows are written before ranks are asked for.
direct.together = false

function direct:next_sequence(board) return call('INCR', board.sequence) end

function direct:add(key, place, score, member)
  -- Asking for the TTL on every write would cost more.
  if call('ZADD', key, score, member) == 1 and place.expires and call('ZCARD', key) == 1 then
    entries.keep_until(key, place)
  end
end

function direct:drop(key, _, member) call('ZREM', key, member) end

-- Put an entry into its place; `old` is the one before, or false.
function direct:put(board, place, hidden, old, entry)
  local key, stamped = hidden and place.aside or place.entries, board.rules.stamped
  call('ZADD', key, entry.text, entry.member)
  if stamped then call('HSET', place.stamps, entry.id, entry.stored) end
  if old then
    -- After ZADD: an empty key would lose its TTL.
    if old.member ~= entry.member then call('ZREM', key, old.member) end
  elseif place.expires and call('ZCARD', key) == 1 then
    entries.keep_until(key, place)
    if stamped then entries.keep_until(place.stamps, place) end
  end
end

-- A sequence was given to a row, which has moved something or not.
function direct:note(board, sequence, moved)
  if not moved then events.keep_quiet(board, sequence, 1) end
end

function direct:publish(board, event) call('SPUBLISH', board.live, event) end
