-- Apply one or many submissions to a plain board: ties by id, ordinal ranks, no further rules.
--
-- The same contract as write_entries, which does this too; a plain board needs so little of it
-- that a third of the time went into what it does not use.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] rules: 1 order (d/a), 7 one row (o) or many (m), 8 details in the answer (0/1), from 9
--         the size limit, 0 for none
-- ARGV[2] unused, ''
-- ARGV[3...] rows, as rows.lua describes
-- Returns as write_entries: one answer, or a list of them
local call = redis.call
-- include rows
local base, entries = KEYS[1], KEYS[2]
local order, _, _, _, _, _, mode, wants_details = string.byte(ARGV[1], 1, 8)
local desc, limit = order == 100, tonumber(string.sub(ARGV[1], 9))
wants_details = wants_details == 49
local RANK = desc and 'ZREVRANK' or 'ZRANK'
local DAY, MOST_TRIMMED = 86400, 10000

local function trim()
  local over = math.min(call('ZCARD', entries) - limit, MOST_TRIMMED)
  if over <= 0 then return false end
  local ids = call(desc and 'ZRANGE' or 'ZREVRANGE', entries, 0, over - 1)
  for _, id in ipairs(ids) do
    call('ZREM', entries, id)
    call('DEL', base .. ':user:' .. id)
  end
  return ids
end

local function write(at)
  local id, text = ARGV[at], ARGV[at + 1]
  local operator, count, first, _, key, _, gone = read_row(at)
  -- include row_once
  local hidden = call('SISMEMBER', base .. ':hidden', id) == 1
  local target = hidden and entries .. ':aside' or entries
  local old = call('ZSCORE', target, id)
  -- include row_details

  local changed = true
  if operator == DETAILS then
    if not old then return 'unknown_player' end
    text, changed = old, false
  elseif old then
    local score, value = tonumber(old), tonumber(text)
    if operator == ADD then
      value = score + value
      if value - value ~= 0 then return 'score_overflow' end
      if value == 0 then value = 0 end
      text = string.format('%.17g', value)
    end
    changed = value ~= score and (operator ~= BEST or (value > score) == desc)
    if not changed then text = old end
  end

  local previous_rank = old and not hidden and call(RANK, entries, id) + 1
  if changed then call('ZADD', target, text, id) end
  if not same then
    if count > 0 then call('HSET', user, unpack(ARGV, first, first + 2 * count - 1)) end
    if gone > 0 then call('HDEL', user, unpack(ARGV, first + 2 * count, first + 2 * count + gone - 1)) end
  end
  local trimmed = limit > 0 and not old and not hidden and trim()
  local rank = previous_rank
  if changed then
    rank = not hidden and call(RANK, entries, id)
    rank = rank and rank + 1
  end
  local answer = {
    0, rank, text, previous_rank, old, changed and 1 or 0, false, false,
    wants_details and not covered and details, trimmed,
  }
  if once then call('SET', once, cmsgpack.pack(answer), 'EX', DAY) end
  return answer
end

if mode == 111 then return write(3) end
local answers, at = {}, 3
while at <= #ARGV do
  answers[#answers + 1] = write(at)
  at = next_row(at)
end
return answers
