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
  if operator == 'i' then
    value = (old or 0) + value
    if value - value ~= 0 then return nil, 'score_overflow' end
    return value == 0 and 0 or value, given_sub or old_sub
  end
  if operator == 's' then return value, given_sub or old_sub end
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

local function old_numbers(score, prefix)
  if not score then return nil, 0 end
  return tonumber(score), with_sub and prefix_sub(prefix) or 0
end

-- Move a player in one sorted set, or enter a new one. Returns the member and the score's text.
local function move(number, id, out, old_score, old_prefix, score, subscore, stamp, old_values, values)
  local entries = KEYS[number]
  local target = out and entries .. ':aside' or entries
  local prefix = with_sub and sub_bytes(subscore) .. stamp or stamp
  local text = number_text(score)
  local index_it = indexed and not out
  if old_score then
    if index_it then unindex(number, id, old_prefix, old_score, old_values) end
    if stamped then call('ZREM', target, old_prefix .. id) end
    call('ZADD', target, text, prefix .. id)
    if stamped then call('HSET', stamps[number], id, prefix .. text) end
  else
    add(target, number, text, prefix .. id)
    if stamped then
      call('HSET', stamps[number], id, prefix .. text)
      if expires and call('HLEN', stamps[number]) == 1 then keep_until(stamps[number], number) end
    end
  end
  if index_it then index(number, id, prefix, text, values) end
  return prefix .. id, text
end

-- One row. With `pending`, the scores that earlier rows would make, it only looks for a code.
local function write(at, pending)
  local id = ARGV[at]
  local operator, count, first, given_sub, key, source = read_row(at)
  local once = key
  if once ~= '' then
    once = base .. ':once:' .. #id .. ':' .. id .. ':' .. once
    local answer = call('GET', once)
    if answer then
      -- Also a write: WAIT after a repeated submission then speaks of the first one too.
      call('EXPIRE', once, DAY)
      answer = cmsgpack.unpack(answer)
      answer[1] = 1
      return answer
    end
  end

  -- Look at everything before the first write, so that a refused row leaves no trace.
  local out = call('SISMEMBER', base .. ':hidden', id) == 1
  local scores, prefixes, stands = {}, {}, false
  for number = 2, last do
    local score, prefix = find(number, id, out)
    scores[number], prefixes[number] = score, prefix
    stands = stands or score
  end
  local user = base .. ':user:' .. id
  local details, covered, same, old_values, values = false, true, true, nil, nil
  if groups then old_values = group_values(id) end
  if count > 0 or wants_details then
    details, covered, same = merged_details(user, first, count)
    if not details then return covered end
    if covered and once ~= '' then
      -- Kept for a replay, whose caller may give other details.
      details, covered = {unpack(ARGV, first, first + 2 * count - 1)}, false
    end
  end
  local old, old_sub = old_numbers(scores[2], prefixes[2])
  if pending and pending[id] then old, old_sub = pending[id][1], pending[id][2] end
  local value, score, subscore = tonumber(ARGV[at + 1]), nil, nil
  if operator == 'd' then
    if not (stands or old) then return 'unknown_player' end
    score, subscore = old, old_sub
  else
    score, subscore = decide(operator, value, given_sub, old, old_sub)
    local code = not score and subscore or (breach and breach(operator, value, score, old))
    if code then return code end
  end
  if pending then
    pending[id] = {score, subscore}
    return
  end

  local member, text = prefixes[2] .. id, scores[2]
  local previous_rank = text and not out and rank_of(KEYS[2], member, text)
  local sequence = numbered and call('INCR', base .. ':seq')
  local news -- the details that changed, for the event
  if events and not same then
    news = {}
    for place = first, first + 2 * count - 1, 2 do news[ARGV[place]] = ARGV[place + 1] end
    news = cjson.encode(news)
  end

  if not same then
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
  local changed, entered, trimmed = false, false, false
  for number = 2, last do
    local old_score, prefix = scores[number], prefixes[number]
    local new, new_sub = score, subscore
    if number > 2 then
      old, old_sub = old_numbers(old_score, prefix)
      if operator ~= 'd' then new, new_sub = decide(operator, value, given_sub, old, old_sub) end
    end
    if operator ~= 'd' and (new ~= old or new_sub ~= old_sub) then
      local at_member, at_text = move(
        number, id, out, old_score, prefix, new, new_sub, stamp, old_values, values)
      if number == 2 then member, text, changed = at_member, at_text, true end
      entered = entered or not old_score
    elseif regrouped and old_score and not out then
      unindex(number, id, prefix, old_score, old_values)
      index(number, id, prefix, old_score, values)
    end
  end

  if entered then
    if expires and not scores[2] then call('PERSIST', user) end -- on the board itself for good
    -- Only now, because details go when their player stands nowhere.
    if limit > 0 and not out then
      for number = 2, last do
        local ids = not scores[number] and trim(number, MOST_TRIMMED)
        if number == 2 then trimmed = ids end
      end
    end
  end
  local rank = false
  if text and not out then
    rank = previous_rank
    if changed and (not trimmed or call('ZSCORE', KEYS[2], member)) then
      rank = rank_of(KEYS[2], member, text)
    end
  end
  if events or notices then
    local name = operator == 's' and 'set' or operator == 'b' and 'best'
      or operator == 'i' and 'sum' or ''
    local told = (operator == 'd' and '{"op":"details","id":' or '{"op":"score","id":')
      .. quoted(id) .. ',"seq":' .. sequence .. ',"at":' .. now_text
      .. ',"season":' .. (extra.season or 'null') .. ',"source":' .. quoted(source)
      .. ',"operator":"' .. name .. '","value":' .. (value and ARGV[at + 1] or 'null')
      .. ',"score":' .. (text or 'null') .. ',"previous":' .. (scores[2] or 'null')
      .. ',"rank":' .. (rank or 'null') .. ',"previous_rank":' .. (previous_rank or 'null')
    if with_sub then
      told = told .. ',"subscore":' .. (text and number_text(subscore) or 'null')
        .. ',"given_subscore":' .. (given_sub and number_text(given_sub) or 'null')
    end
    if key ~= '' then told = told .. ',"key":' .. quoted(key) end
    if news then told = told .. ',"details":' .. news end
    if trimmed and #trimmed > 0 then told = told .. ',"trimmed":' .. cjson.encode(trimmed) end
    tell(told .. '}')
  end
  local answer = {
    0, rank, text, previous_rank, scores[2], changed and 1 or 0, sequence,
    with_sub and text and number_text(subscore), not covered and wants_details and details, trimmed,
  }
  if once ~= '' then call('SET', once, cmsgpack.pack(answer), 'EX', DAY) end
  return answer
end

if mode == 111 then return write(3) end
local at = 3
if mode == 97 then
  local refused, pending, number = {'refused'}, {}, 0
  while at <= #ARGV do
    local code = write(at, pending)
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
  answers[#answers + 1] = write(at)
  at = next_row(at)
end
return answers
