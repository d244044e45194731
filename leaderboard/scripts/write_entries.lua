-- Apply one or many submissions to a board and its windows: score, details, trim, event, notice.
--
-- KEYS[1] the board's base key, KEYS[2] its entries, KEYS[3...] its windows' entries
-- ARGV[1] rules, further characters: 5 events (0/1), 6 notices (0/1), 7 all or nothing (0/1),
--         8 details in the answer (0/1)
-- ARGV[2] size limit, 0 for none
-- ARGV[3] further rules as JSON, or ''
-- ARGV[4...] rows of seven values and their details: id, value, operator (s set, b best, i add,
--         d details only), subscore or '', idempotency key or '', source, number of details, and
--         each detail's name and value
-- Returns {'season', number, state}: the season has moved, nothing was written
--         {'window', microseconds}: these windows are not now, nothing was written
--         {'refused', row, code, ...}: all or nothing was asked, and these rows are wrong
--         {'ok', row, ...}: each row a code, or a list of replayed (0/1), rank or nil, score,
--         previous rank or nil, previous score or nil, changed (0/1), sequence, microseconds,
--         subscore, details, ids trimmed
-- include rules
-- include ranks
-- include places
local events, notices, atomic, wants_details = string.byte(ARGV[1], 5, 8)
events, notices, atomic, wants_details = events == 49, notices == 49, atomic == 49, wants_details == 49
local numbered = stamped or events or notices
local DAY = 86400
local MOST_DETAILS, MOST_DETAIL_BYTES = 32, 4096

local now = 0
if numbered or ARGV[3] ~= '' then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

if extra.season then
  local pointer = call('HMGET', base .. ':season', 'number', 'state', 'closes')
  local closes = tonumber(pointer[3] or '')
  if pointer[1] ~= extra.season or pointer[2] ~= 'open' or (closes and now >= closes) then
    return {'season', pointer[1], pointer[2]}
  end
end
if extra.from and (now < extra.from or now >= extra['until']) then
  return {'window', string.format('%.0f', now)}
end

-- What a submission makes of a score: the new score and subscore, or nil and a code.
local function decide(operator, value, given_sub, old, old_sub)
  local score, subscore = value, given_sub or old_sub or 0
  if operator == 'i' then
    score = (old or 0) + value
    if score - score ~= 0 then return nil, 'score_overflow' end
    if score == 0 then score = 0 end
  elseif operator == 'b' then
    subscore = given_sub or 0
    if old then
      local better
      if score ~= old then
        better = (score > old) == desc
      else
        better = subscore ~= old_sub and (subscore > old_sub) == (sub_order == 100)
      end
      if not better then score, subscore = old, old_sub end
    end
  end
  return score, subscore
end

local function breach(operator, value, score, old)
  local bounded = operator == 'b' and value or score
  if extra.low and bounded < extra.low then return 'score_too_low' end
  if extra.high and bounded > extra.high then return 'score_too_high' end
  if extra.step then
    local step = operator == 'i' and value or (old and score - old or 0)
    if math.abs(step) > extra.step then return 'step_too_large' end
  end
end

local function once_key(id, once)
  return base .. ':once:' .. #id .. ':' .. id .. ':' .. once
end

-- The details a player would have, as a flat list, or nil and a code.
local function merged_details(id, first, count)
  local details = call('HGETALL', base .. ':user:' .. id)
  if count == 0 then return details end
  local places, bytes = {}, 0
  for at = 1, #details, 2 do places[details[at]] = at end
  for at = first, first + 2 * count - 1, 2 do
    local place = places[ARGV[at]] or #details + 1
    places[ARGV[at]] = place
    details[place], details[place + 1] = ARGV[at], ARGV[at + 1]
  end
  for at = 1, #details do bytes = bytes + #details[at] end
  if #details > 2 * MOST_DETAILS then return nil, 'too_many_details' end
  if bytes > MOST_DETAIL_BYTES then return nil, 'details_too_large' end
  return details
end

-- Look before writing, so that a refused row leaves no trace. `pending` holds the scores of
-- players by the rows before, when all rows are looked at first.
local function look(at, pending)
  local id, operator, once, count = ARGV[at], ARGV[at + 2], ARGV[at + 4], tonumber(ARGV[at + 6])
  local row = {id = id, operator = operator, at = at, count = count}
  if once ~= '' then
    row.once = once_key(id, once)
    local answer = call('GET', row.once)
    if answer then
      row.answer = answer
      return row
    end
  end
  row.out = call('SISMEMBER', base .. ':hidden', id) == 1
  local scores, prefixes, stands = {}, {}, false
  for number = 2, #KEYS do
    scores[number], prefixes[number] = find(number, id, row.out)
    stands = stands or scores[number]
  end
  row.scores, row.prefixes = scores, prefixes
  if count > 0 or wants_details or groups then
    if groups then row.old_values = group_values(id) end
    local details, code = merged_details(id, at + 7, count)
    if not details then return row, code end
    row.details = details
  end
  if operator == 'd' then
    if not stands then return row, 'unknown_player' end
    return row
  end
  row.value = tonumber(ARGV[at + 1])
  row.given_sub = tonumber(ARGV[at + 3])
  local old = scores[2] and tonumber(scores[2]) or nil
  local old_sub = old and with_sub and prefix_sub(prefixes[2]) or 0
  if pending and pending[id] then old, old_sub = pending[id][1], pending[id][2] end
  local score, subscore = decide(operator, row.value, row.given_sub, old, old_sub)
  if not score then return row, subscore end
  local code = breach(operator, row.value, score, old)
  if code then return row, code end
  if pending then pending[id] = {score, subscore} end
  row.old, row.old_sub, row.score, row.subscore = old, old_sub, score, subscore
  return row
end

local function new_values(row)
  if not groups then return nil end
  local values = {}
  for place, field in ipairs(groups) do
    values[place] = false
    for at = 1, #row.details, 2 do
      if row.details[at] == field then values[place] = row.details[at + 1] end
    end
  end
  return values
end

local function values_differ(old, new)
  for place = 1, groups and #groups or 0 do
    if old[place] ~= new[place] then return true end
  end
  return false
end

-- Bring one sorted set up to date. Returns whether the score moved and whether it is a new entry.
local function put(number, row, score, subscore, stamp, values)
  local entries, id, out = KEYS[number], row.id, row.out
  local old_score, prefix = row.scores[number], row.prefixes[number]
  local old = old_score and tonumber(old_score) or nil
  local moved = score ~= nil and (score ~= old or (with_sub and subscore ~= prefix_sub(prefix)))
  if not moved then
    if old and not out and row.regrouped then
      unindex(number, id, prefix, old_score, row.old_values)
      index(number, id, prefix, old_score, values)
    end
    return false, false
  end
  local target = out and entries .. ':aside' or entries
  local new_prefix = (with_sub and sub_bytes(subscore) or '') .. stamp
  if old then
    if indexed and not out then unindex(number, id, prefix, old_score, row.old_values) end
    if stamped then call('ZREM', target, prefix .. id) end
  end
  local text = number_text(score)
  add(target, number, text, new_prefix .. id)
  if stamped then
    call('HSET', entries .. ':at', id, new_prefix)
    if not old and expires and call('HLEN', entries .. ':at') == 1 then
      keep_until(entries .. ':at', number)
    end
  end
  if indexed and not out then index(number, id, new_prefix, text, values) end
  return true, old == nil
end

local function write_event(row, sequence, score)
  local at = row.at
  local fields = {
    'type', row.operator == 'd' and 'details' or 'score', 'id', row.id, 'seq', sequence,
    'at', string.format('%.0f', now), 'season', extra.season or '', 'source', ARGV[at + 5],
  }
  if score then
    local names = {s = 'set', b = 'best', i = 'sum'}
    for _, text in ipairs({
      'operator', names[row.operator], 'value', ARGV[at + 1], 'score', number_text(score),
      'previous', row.old and number_text(row.old) or '',
    }) do fields[#fields + 1] = text end
    if with_sub then
      fields[#fields + 1] = 'subscore'
      fields[#fields + 1] = number_text(row.subscore)
    end
  end
  if row.once then
    fields[#fields + 1] = 'key'
    fields[#fields + 1] = ARGV[at + 4]
  end
  if row.count > 0 then
    local given = {}
    for place = at + 7, at + 6 + 2 * row.count, 2 do given[ARGV[place]] = ARGV[place + 1] end
    fields[#fields + 1] = 'details'
    fields[#fields + 1] = cjson.encode(given)
  end
  call('XADD', base .. ':events', 'MAXLEN', '~', extra.cap, '*', unpack(fields))
end

local function write_notice(row, sequence, score, rank, previous_rank)
  call('PUBLISH', base .. ':live', string.format(
    '{"seq":%d,"at":%.0f,"op":"%s","id":%s,"score":%s,"rank":%s,"previous_rank":%s,"season":%s}',
    sequence, now, row.operator == 'd' and 'details' or 'score', cjson.encode(row.id),
    score and number_text(score) or 'null', rank or 'null', previous_rank or 'null',
    extra.season or 'null'))
end

local function write(row)
  if row.answer then
    local answer = cmsgpack.unpack(row.answer)
    answer[1] = 1
    return answer
  end
  local id, visible = row.id, not row.out
  local previous_rank = visible and row.scores[2]
    and rank_of(KEYS[2], row.prefixes[2] .. id, row.scores[2]) or false
  local sequence = numbered and call('INCR', base .. ':seq') or false
  if events then write_event(row, sequence, row.score) end

  local stamp = timed and stamp_bytes(now, sequence) or ''
  local values = new_values(row)
  row.regrouped = groups and values_differ(row.old_values, values)
  local changed, entered = put(2, row, row.score, row.subscore, stamp, values)
  local trimmed = entered and visible and limit > 0 and 2 or 0
  local windows_entered = {}
  for number = 3, #KEYS do
    local score, subscore
    if row.score then
      local old = row.scores[number] and tonumber(row.scores[number]) or nil
      local old_sub = old and with_sub and prefix_sub(row.prefixes[number]) or 0
      score, subscore = decide(row.operator, row.value, row.given_sub, old, old_sub)
    end
    local _, new = put(number, row, score, subscore, stamp, values)
    if new and visible and limit > 0 then windows_entered[#windows_entered + 1] = number end
  end
  if row.count > 0 then
    call('HSET', base .. ':user:' .. id, unpack(ARGV, row.at + 7, row.at + 6 + 2 * row.count))
  end
  -- A player who comes back to the board itself keeps the details for good.
  if entered and expires then call('PERSIST', base .. ':user:' .. id) end
  local ids = trimmed == 2 and trim(2, MOST_TRIMMED) or {}
  for _, number in ipairs(windows_entered) do trim(number, MOST_TRIMMED) end

  local score = row.score or (row.scores[2] and tonumber(row.scores[2])) or nil
  local rank = false
  if visible and score then
    local text, prefix = find(2, id)
    rank = text and rank_of(KEYS[2], prefix .. id, text) or false
  end
  if notices then write_notice(row, sequence, score, rank, previous_rank) end
  local subscore = row.subscore
    or (with_sub and row.scores[2] and prefix_sub(row.prefixes[2])) or nil
  local answer = {
    0, rank, score and number_text(score) or false, previous_rank, row.scores[2],
    changed and 1 or 0, sequence, string.format('%.0f', now),
    with_sub and subscore and number_text(subscore) or false, row.details or {}, ids,
  }
  if row.once then call('SET', row.once, cmsgpack.pack(answer), 'EX', DAY) end
  return answer
end

local rows, at = {}, 4
if atomic then
  local refused, pending, number = {'refused'}, {}, 0
  while at <= #ARGV do
    local _, code = look(at, pending)
    if code then
      refused[#refused + 1] = number
      refused[#refused + 1] = code
    end
    number, at = number + 1, at + 7 + 2 * tonumber(ARGV[at + 6])
  end
  if #refused > 1 then return refused end
  at = 4
end
rows[1] = 'ok'
while at <= #ARGV do
  local row, code = look(at)
  rows[#rows + 1] = code or write(row)
  at = at + 7 + 2 * row.count
end
return rows
