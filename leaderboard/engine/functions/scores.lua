-- scores: what a submission makes of a score, and whether it may.

local function is_finite(number) return number - number == 0 end

local function is_better(rules, score, subscore, old, old_subscore)
  if score ~= old then return (score > old) == rules.desc end
  return subscore ~= old_subscore and (subscore > old_subscore) == (rules.subscore == 'desc')
end

local function sum(rules, old, value)
  local total = (old or 0) + value
  if rules.precision and total % 1 ~= 0 and is_finite(total) then
    total = tonumber(string.format(rules.precision, total))
  end
  return total == 0 and 0 or total -- no negative zero
end

-- The score and subscore of an entry; nil and a missing one without an entry.
function scores.of(rules, entry)
  if entry then return entry.score, entry.subscore end
  return nil, rules.missing_subscore
end

-- The score and subscore after a row; `old` is nil for a new player.
function scores.after(rules, row, old, old_subscore)
  local operator = row.operator
  if operator == 'set' then return row.value, row.subscore or old_subscore end
  if operator == 'sum' then return sum(rules, old, row.value), row.subscore or old_subscore end
  if operator == 'details' then return old, old_subscore end
  local subscore = row.subscore or rules.missing_subscore
  if not old or is_better(rules, row.value, subscore, old, old_subscore) then
    return row.value, subscore
  end
  return old, old_subscore
end

local function step(rules, row, score, old)
  if row.operator == 'sum' then return row.value end
  if old or rules.first_step then return score - (old or 0) end
  return 0
end

local function breach(rules, row, score, old)
  local bounded = row.operator == 'best' and row.value or score
  if rules.lowest and bounded < rules.lowest then return 'score_too_low' end
  if rules.highest and bounded > rules.highest then return 'score_too_high' end
  if rules.largest_step and math.abs(step(rules, row, score, old)) > rules.largest_step then
    return 'step_too_large'
  end
end

local function overflows(row, player, score)
  if not is_finite(score) then return true end
  for _, entry in ipairs(player.entries) do
    if entry and not is_finite(entry.score + row.value) then return true end
  end
  return false
end

-- Whether nothing can be wrong with a row.
function scores.is_always_taken(rules, row)
  return not rules.bounded and (row.operator == 'set' or row.operator == 'best')
end

-- What is wrong with a row that makes `score` of the score `old`; nil when it may be written.
function scores.refusal(rules, row, player, old, score)
  if row.operator == 'details' then
    if not old and not players.is_known(player) then return 'unknown_player' end
  elseif row.operator == 'sum' and overflows(row, player, score) then
    return 'score_overflow'
  elseif rules.bounded then
    return breach(rules, row, score, old)
  end
end
