-- replays: answers kept under the row's idempotency key until a day after their last use, so that a
-- row counts once.
local DAY = 86400

local function key_of(board, row)
  return board.base .. ':once:' .. #row.id .. ':' .. row.id .. ':' .. row.key
end

-- The answer that was given before to a row with a key, marked as such, or nil.
function replays.find(board, row)
  local key = key_of(board, row)
  local packed = call('GET', key)
  if not packed then return nil end
  -- Also a write: WAIT after a repeated submission then speaks of the first one too.
  call('EXPIRE', key, DAY)
  local answer = cmsgpack.unpack(packed)
  answer[1] = 1
  return answer
end

-- The answers of rows that were all given before, or nil.
function replays.find_all(board, list)
  local answers = {}
  for number, row in ipairs(list) do
    local answer = row.key and replays.find(board, row)
    if not answer then return nil end
    answers[number] = answer
  end
  return answers
end

function replays.keep(board, row, answer)
  call('SET', key_of(board, row), cmsgpack.pack(answer), 'EX', DAY)
end
