-- Apply many submissions to a board and its windows: score, details, trim, event, notice.
--
-- KEYS and ARGV as of `write_entry`, with rows one after the other
-- Returns {'refused', row, code, ...}: all or nothing was asked, and these rows are wrong
--         else as `write_entry`, a list of answers
-- include writing

-- Many rows are written in runs: what stands of their players is read at once, and what becomes of
-- them is gathered, by the number of the key, for one ZADD, HSET and ZREM. nil for a single row.
local run, added, noted, removed

-- One row until its sorted sets have changed. Returns an answer or a code, or nil and what `finish`
-- needs. With `pending`, the scores that earlier rows would make, it only looks for a code.
local function begin(at, place, pending)
  -- include row_read
  if pending then
    pending[id] = {score, subscore}
    return
  end
  -- include row_write
  return nil, {
    at, id, operator, given_sub or false, key, source, once, details, covered, subscore, previous,
    text, member, previous_rank, changed, entered, sequence, news, moved,
  }
end

local function finish(row)
  local at, id, operator, given_sub, key, source, once, details, covered, subscore, previous, text,
    member, previous_rank, changed, entered, sequence, news, moved = unpack(row, 1, 19)
  -- include row_tell
  return answer
end

local function write(at)
  local answer, row = begin(at)
  if row then return finish(row) end
  return answer
end

-- As many values as Lua can give to a command at once are some thousands.
local MOST_TOGETHER = 1000

-- Make the gathered changes of one sorted set: first what goes, because a player whose group has
-- changed in one field leaves and enters the others. Returns whether it has come to life, perhaps
-- anew, and without its TTL.
local function change(key, number, to_add, to_remove)
  if #to_remove > 0 then call('ZREM', key, unpack(to_remove)) end
  if #to_add == 0 then return false end
  local count = call('ZADD', key, unpack(to_add))
  local is_new = expires and call('ZCARD', key) == count
  if is_new then keep_until(key, number) end
  return is_new
end

-- Write a row and those after it, up to the next one of a player who had one already; returns where
-- that one begins. The ranks before are of the board before the run, the ranks after of the board
-- after it.
local function write_run(at, answers)
  local starts, ids, seen = {}, {}, {}
  while at <= #ARGV and #ids < MOST_TOGETHER and not seen[ARGV[at]] do
    seen[ARGV[at]] = true
    ids[#ids + 1], starts[#starts + 1] = ARGV[at], at
    at = next_row(at)
  end
  if #ids == 1 then
    run, waiting = nil, nil
    answers[#answers + 1] = write(starts[1])
    return at
  end
  local sequence = numbered and tonumber(call('GET', base .. ':seq') or 0)
  waiting = indexed and {}
  added, noted, removed = {}, {}, {}
  run = {
    hidden = call('SMISMEMBER', base .. ':hidden', unpack(ids)), sequence = sequence, notices = {},
    moved = 0, -- the last sequence that changed something
  }
  for number = 2, last do
    call('ZCARD', KEYS[number]) -- a key of another type must show before anything is written
    run[number] = stamped and call('HMGET', stamps[number], unpack(ids))
      or call('ZMSCORE', KEYS[number], unpack(ids))
    added[number], noted[number], removed[number] = {}, {}, {}
  end
  local rows, before = {}, #answers
  for place = 1, #starts do answers[before + place], rows[place] = begin(starts[place], place) end
  for number = 2, last do
    if #added[number] > 0 then
      local is_new = change(KEYS[number], number, added[number], removed[number])
      if stamped then
        call('HSET', stamps[number], unpack(noted[number]))
        if is_new then keep_until(stamps[number], number) end
      end
    end
  end
  for key, lists in pairs(waiting or {}) do change(key, lists[1], lists[2], lists[3]) end
  if numbered and run.sequence > sequence then
    call('INCRBY', base .. ':seq', run.sequence - sequence)
    if run.sequence > run.moved then
      keep_quiet(run.sequence, run.sequence - math.max(run.moved, sequence))
    end
  end
  for place = 1, #starts do
    if rows[place] then answers[before + place] = finish(rows[place]) end
  end
  if #run.notices > 0 then call('SPUBLISH', base .. ':live', table.concat(run.notices, '\n')) end
  return at
end

local at = 3
if string.byte(ARGV[1], 7) == 97 then
  local refused, pending, number = {'refused'}, {}, 0
  while at <= #ARGV do
    local code = begin(at, nil, pending)
    if type(code) == 'string' then
      refused[#refused + 1] = number
      refused[#refused + 1] = code
    end
    number, at = number + 1, next_row(at)
  end
  if #refused > 1 then return refused end
  at = 3
end
local answers = {}
while at <= #ARGV do
  -- A row may push out the player of the next one, and a dense rank hangs on the entries around it.
  if limit > 0 or ranking == 100 then
    answers[#answers + 1] = write(at)
    at = next_row(at)
  else
    at = write_run(at, answers)
  end
end
return answers
