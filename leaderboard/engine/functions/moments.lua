-- moments: the time, always that of Redis.

-- Microseconds since 1970; exact, being far below 2^53.
function moments.now()
  local time = call('TIME')
  return time[1] * 1000000 + time[2]
end

-- The last one is kept, because the rows of a call have the same time.
local last_moment, last_text

-- The digits of a moment; Lua's own conversion has 14 of them.
function moments.text(moment)
  if moment ~= last_moment then last_moment, last_text = moment, string.format('%d', moment) end
  return last_text
end
