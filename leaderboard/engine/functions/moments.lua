-- moments: the time, always that of Redis.

-- Microseconds since 1970; exact, being far below 2^53.
function moments.now()
  local time = call('TIME')
  return time[1] * 1000000 + time[2]
end

-- The digits of microseconds; Lua's own conversion has 14 of them.
function moments.text(microseconds) return string.format('%.0f', microseconds) end
