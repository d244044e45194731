-- Shared opening of `write_entry` and `write_entries`: the moment, whether it is the right one, and
-- what a submission makes of a score.
--
-- KEYS and ARGV[1], ARGV[2] as `write_entry` describes them
-- include rules
-- include ranks
-- include places
-- include rows
-- include telling
local wants_details = string.byte(ARGV[1], 8) == 49
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

-- Most decimals are no doubles: without rounding, 0.1 + 0.7 is less than 0.8 and sums drift.
local precision = extra.decimals and '%.' .. extra.decimals .. 'f'

-- What a submission makes of a score: the new score and subscore, or nil and a code.
local function decide(operator, value, given_sub, old, old_sub)
  if operator == SET then return value, given_sub or old_sub end
  if operator == ADD then
    value = (old or 0) + value
    if value - value ~= 0 then return nil, 'score_overflow' end
    if precision and value % 1 ~= 0 then value = tonumber(string.format(precision, value)) end
    return value == 0 and 0 or value, given_sub or old_sub
  end
  local subscore = given_sub or NO_SUB
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
    local bounded = operator == BEST and value or score
    if extra.low and bounded < extra.low then return 'score_too_low' end
    if extra.high and bounded > extra.high then return 'score_too_high' end
    if extra.step then
      local step = 0
      if operator == ADD then
        step = value
      elseif old or extra.first_step then
        step = score - (old or 0)
      end
      if math.abs(step) > extra.step then return 'step_too_large' end
    end
  end
end

-- What is stored of a player in each sorted set, by the number of its key; of the row that is
-- looked at.
local found = {false, false, false, false, false, false}
