-- Apply one or many submissions to a board and its windows: score, details, trim, event, notice.
--
-- KEYS[1] the board's base key, KEYS[2] its entries, KEYS[3...] its windows' entries
-- ARGV[1] rules, further characters: 5 events (0/1), 6 notices (0/1), 7 one row (o), many (m) or
--         all or nothing (a), 8 details in the answer (0/1), from 9 the size limit, 0 for none
-- ARGV[2] further rules as JSON, or ''
-- ARGV[3...] rows, as rows.lua describes
-- Returns {'season', number, state}: the season has moved, nothing was written
--         {'window', microseconds}: these windows are not now, nothing was written
--         {'refused', row, code, ...}: all or nothing was asked, and these rows are wrong
--         else one answer or a list of them; an answer is a code, or a list of replayed (0/1),
--         rank or nil, score, previous rank or nil, previous score or nil, changed (0/1),
--         sequence or nil, subscore or nil, details or nil when they are as given, ids trimmed
--         or nil
-- include rules
-- include ranks
-- include places
-- include rows
-- include telling
local mode, wants_details = string.byte(ARGV[1], 7, 8)
wants_details = wants_details == 49
local numbered = stamped or events or notices
local last = #KEYS
local DAY = 86400

local now, now_text = 0, '0'
if numbered or ARGV[2] ~= '' then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
  now_text = string.format('%d', now)
end

if extra.season then
  local pointer = call('HMGET', base .. ':season', 'number', 'state', 'closes')
  local closes = tonumber(pointer[3] or '')
  if pointer[1] ~= extra.season or pointer[2] ~= 'open' or (closes and now >= closes) then
    return {'season', pointer[1], pointer[2]}
  end
end
if extra.from and (now < extra.from or now >= extra['until']) then
  return {'window', now_text}
end

-- What a submission makes of a score: the new score and subscore, or nil and a code.
local function decide(operator, value, given_sub, old, old_sub)
  if operator == 's' then return value, given_sub or old_sub end
  if operator == 'i' then
    value = (old or 0) + value
    if value - value ~= 0 then return nil, 'score_overflow' end
    return value == 0 and 0 or value, given_sub or old_sub
  end
  local subscore = given_sub or 0
  if not old then return value, subscore end
  local better
  if value ~= old then
    better = (value > old) == desc
  else
    better = subscore ~= old_sub and (subscore > old_sub) == (sub_order == 100)
  end
  if better then return value, subscore end
  return old, old_sub
end

local breach
if extra.low or extra.high or extra.step then
  breach = function(operator, value, score, old)
    local bounded = operator == 'b' and value or score
    if extra.low and bounded < extra.low then return 'score_too_low' end
    if extra.high and bounded > extra.high then return 'score_too_high' end
    if extra.step then
      local step = operator == 'i' and value or (old and score - old or 0)
      if math.abs(step) > extra.step then return 'step_too_large' end
    end
  end
end

-- Many rows are written in runs: what stands of their players is read at once, and what becomes of
-- them is gathered, by the number of the key, for one ZADD, HSET and ZREM. nil for a single row.
local run, added, noted, removed

-- Put a player's entry into one sorted set, in the place of an old one if there is one.
local function put(number, id, out, old_prefix, prefix, text)
  if run and not out then
    local list, at = added[number], #added[number]
    list[at + 1], list[at + 2] = text, prefix .. id
    if stamped then
      list = noted[number]
      list[at + 1], list[at + 2] = id, prefix .. text
    end
    if old_prefix and old_prefix ~= prefix then
      list = removed[number]
      list[#list + 1] = old_prefix .. id
    end
    return
  end
  local entries = out and KEYS[number] .. ':aside' or KEYS[number]
  call('ZADD', entries, text, prefix .. id)
  if stamped then call('HSET', stamps[number], id, prefix .. text) end
  if not old_prefix then
    if expires and call('ZCARD', entries) == 1 then keep_both_until(entries, number) end
  elseif old_prefix ~= prefix then
    call('ZREM', entries, old_prefix .. id) -- after ZADD: an empty key would lose its TTL
  end
end

-- What a player has in each sorted set, by the number of its key; of the row that is looked at.
local texts, prefixes = {false, false, false, false, false, false}, {'', '', '', '', '', ''}

-- One row until its sorted sets have changed. Returns what `finish` needs, or nil and the answer
-- that was given before or a code. With `pending`, the scores that earlier rows would make, it only
-- looks for a code.
local function begin(at, place, pending)
  local id = ARGV[at]
  local operator, count, first, given_sub, key, source = read_row(at)
  local once = key
  if once ~= '' then
    once = base .. ':once:' .. #id .. ':' .. id .. ':' .. key
    local answer = call('GET', once)
    if answer then
      -- Also a write: WAIT after a repeated submission then speaks of the first one too.
      call('EXPIRE', once, DAY)
      answer = cmsgpack.unpack(answer)
      answer[1] = 1
      return nil, answer
    end
  end

  -- Look at everything before the first write, so that a refused row leaves no trace.
  local out = (place and run.hidden[place] or call('SISMEMBER', base .. ':hidden', id)) == 1
  local stands = false
  for number = 2, last do
    local text, prefix
    if place and (stamped or not out) then
      text, prefix = parted(run[number][place])
    else
      text, prefix = find(number, id, out)
    end
    texts[number], prefixes[number] = text, prefix
    stands = stands or text
  end
  local user = base .. ':user:' .. id
  local details, covered, same, old_values, values = false, true, true, nil, nil
  if groups then old_values = group_values(id) end
  if count > 0 or wants_details then
    details, covered, same = merged_details(user, first, count)
    if not details then return nil, covered end
    if covered and once ~= '' then
      -- Kept for a replay, whose caller may give other details.
      details, covered = {unpack(ARGV, first, first + 2 * count - 1)}, false
    end
  end
  local text, member = texts[2], prefixes[2] .. id
  local old, old_sub = tonumber(text or nil), 0
  if with_sub and text then old_sub = prefix_sub(member) end
  if pending and pending[id] then old, old_sub = pending[id][1], pending[id][2] end
  local value, score, subscore = tonumber(ARGV[at + 1]), nil, nil
  if operator == 'd' then
    if not (stands or old) then return nil, 'unknown_player' end
    score, subscore = old, old_sub
  else
    score, subscore = decide(operator, value, given_sub, old, old_sub)
    local code = not score and subscore or (breach and breach(operator, value, score, old))
    if code then return nil, code end
  end
  if pending then
    pending[id] = {score, subscore}
    return
  end

  local sequence = false
  if numbered then
    if run then run.sequence = run.sequence + 1 end
    sequence = run and run.sequence or call('INCR', base .. ':seq')
  end
  local row = {
    at = at, operator = operator, given_sub = given_sub, key = key, source = source,
    previous = text, sequence = sequence,
    previous_rank = text and not out and rank_of(KEYS[2], member, text),
    text = text, member = not out and member, changed = 0, entered = false,
  }
  -- Few rows have what follows.
  if with_sub then row.subscore = subscore end
  if once ~= '' then row.once = once end
  if wants_details and not covered then row.details = details end
  if not same then
    if events then
      row.news = {}
      for place = first, first + 2 * count - 1, 2 do row.news[ARGV[place]] = ARGV[place + 1] end
    end
    call('HSET', user, unpack(ARGV, first, first + 2 * count - 1))
    if groups then
      values = group_values(id)
      for place = 1, #groups do
        if values[place] ~= old_values[place] then same = nil end -- another group
      end
    end
  end
  local regrouped = same == nil
  values = values or old_values
  local stamp = timed and stamp_bytes(now, sequence) or ''
  for number = 2, last do
    local old_text, old_prefix = texts[number], prefixes[number]
    local new, new_sub = score, subscore
    if number > 2 and operator ~= 'd' then
      old, old_sub = tonumber(old_text or nil), 0
      if with_sub and old_text then old_sub = prefix_sub(old_prefix) end
      new, new_sub = decide(operator, value, given_sub, old, old_sub)
    end
    if operator ~= 'd' and (new ~= old or new_sub ~= old_sub) then
      local prefix = with_sub and sub_bytes(new_sub) .. stamp or stamp
      local new_text = number_text(new)
      local is_indexed = indexed and not out
      if is_indexed and old_text then unindex(number, id, old_prefix, old_text, old_values) end
      put(number, id, out, old_text and old_prefix, prefix, new_text)
      if is_indexed then index(number, id, prefix, new_text, values) end
      if number == 2 then
        row.text, row.member, row.changed = new_text, not out and prefix .. id, 1
      end
      if not old_text then row.entered = true end
    elseif regrouped and old_text and not out then
      unindex(number, id, old_prefix, old_text, old_values)
      index(number, id, old_prefix, old_text, values)
    end
  end
  return row
end

-- The rest of a row, when its entries stand in the sorted sets: trim, rank, event and notice.
local function finish(row)
  local id, text, member, previous_rank = ARGV[row.at], row.text, row.member, row.previous_rank
  local trimmed, rank = false, false
  if row.entered then
    -- On the board itself for good.
    if expires and not row.previous then call('PERSIST', base .. ':user:' .. id) end
    -- Only now, because details go when their player stands nowhere.
    if limit > 0 and member then
      for number = 2, last do
        local ids = not texts[number] and trim(number, MOST_TRIMMED)
        if number == 2 then trimmed = ids end
      end
    end
  end
  if text and member then
    rank = previous_rank
    if (row.changed == 1 or run) and (not trimmed or call('ZSCORE', KEYS[2], member)) then
      rank = rank_of(KEYS[2], member, text)
    end
  end
  local subscore = with_sub and text and number_text(row.subscore)
  if events or notices then
    local operator, more = row.operator, ''
    if with_sub then
      more = ',"subscore":' .. (subscore or 'null')
        .. ',"given_subscore":' .. (row.given_sub and number_text(row.given_sub) or 'null')
    end
    if row.key ~= '' then more = more .. ',"key":' .. quoted(row.key) end
    if row.news then more = more .. ',"details":' .. cjson.encode(row.news) end
    if trimmed and #trimmed > 0 then more = more .. ',"trimmed":' .. cjson.encode(trimmed) end
    local name = operator == 's' and 'set' or operator == 'b' and 'best'
      or operator == 'i' and 'sum' or ''
    tell((name == '' and '{"op":"details","id":' or '{"op":"score","id":') .. quoted(id)
      .. ',"seq":' .. row.sequence .. ',"at":' .. now_text
      .. ',"season":' .. (extra.season or 'null') .. ',"source":' .. quoted(row.source)
      .. ',"operator":"' .. name .. '","value":' .. (name == '' and 'null' or ARGV[row.at + 1])
      .. ',"score":' .. (text or 'null') .. ',"previous":' .. (row.previous or 'null')
      .. ',"rank":' .. (rank or 'null') .. ',"previous_rank":' .. (previous_rank or 'null')
      .. more .. '}', run and run.notices)
  end
  local answer = {
    0, rank, text, previous_rank, row.previous, row.changed, row.sequence, subscore,
    row.details or false, trimmed,
  }
  if row.once then call('SET', row.once, cmsgpack.pack(answer), 'EX', DAY) end
  return answer
end

local function write(at)
  local row, answer = begin(at)
  if row then return finish(row) end
  return answer
end

if mode == 111 then return write(3) end

-- As many values as Lua can give to a command at once are some thousands.
local MOST_TOGETHER = 1000

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
    run = nil
    answers[#answers + 1] = write(starts[1])
    return at
  end
  local sequence = numbered and tonumber(call('GET', base .. ':seq') or 0)
  added, noted, removed = {}, {}, {}
  run = {
    hidden = call('SMISMEMBER', base .. ':hidden', unpack(ids)), sequence = sequence, notices = {},
  }
  for number = 2, last do
    call('ZCARD', KEYS[number]) -- a key of another type must show before anything is written
    run[number] = stamped and call('HMGET', stamps[number], unpack(ids))
      or call('ZMSCORE', KEYS[number], unpack(ids))
    added[number], noted[number], removed[number] = {}, {}, {}
  end
  local rows, before = {}, #answers
  for place = 1, #starts do rows[place], answers[before + place] = begin(starts[place], place) end
  for number = 2, last do
    local entries = KEYS[number]
    if #added[number] > 0 then
      local count = call('ZADD', entries, unpack(added[number]))
      if stamped then call('HSET', stamps[number], unpack(noted[number])) end
      if expires and call('ZCARD', entries) == count then keep_both_until(entries, number) end
      if #removed[number] > 0 then call('ZREM', entries, unpack(removed[number])) end
    end
  end
  if numbered and run.sequence > sequence then
    call('INCRBY', base .. ':seq', run.sequence - sequence)
  end
  for place = 1, #starts do
    if rows[place] then answers[before + place] = finish(rows[place]) end
  end
  if #run.notices > 0 then call('SPUBLISH', base .. ':live', table.concat(run.notices, '\n')) end
  return at
end

local at = 3
if mode == 97 then
  local refused, pending, number = {'refused'}, {}, 0
  while at <= #ARGV do
    local _, code = begin(at, nil, pending)
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
  -- A row may push out the player of the next one, and indexes are kept entry by entry.
  if limit > 0 or indexed then
    answers[#answers + 1] = write(at)
    at = next_row(at)
  else
    at = write_run(at, answers)
  end
end
return answers
