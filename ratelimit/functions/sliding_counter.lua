-- sliding_counter: two counts instead of a log. The previous window counts by the share of it
-- that the last `window` microseconds still cover, as if its calls had come evenly.
-- State: string of three doubles, when the window opened, its count, the previous window's count.
function sliding_counter.ask(limit, key, cost, now, charging)
  local count, window = limit.count, limit.window
  local opened, current, previous = now, 0, 0
  local state = call('GET', key)
  if state then
    opened, current, previous = struct.unpack('<ddd', state)
  end
  local late = opened > now
  if late then
    opened = now
  elseif now >= opened + 2 * window then
    opened, current, previous = now, 0, 0
  elseif now >= opened + window then
    opened, current, previous = opened + window, 0, current
  end
  local left = opened + window - now
  local room = count - cost
  local fits = previous * left <= (room - current) * window
  local retry_after = 0
  if not fits then
    if room < 0 then
      retry_after = left + window
    elseif current <= room then
      -- The previous window fades enough before this one ends.
      retry_after = left - math.floor((room - current) * window / previous)
    else
      -- This window must become the previous one first, and then fade.
      retry_after = left + window - math.floor(room * window / current)
    end
  end
  if charging and (fits or late) then
    if fits then
      current = current + cost
    end
    call('SET', key, struct.pack('<ddd', opened, current, previous),
      'PX', math.ceil((left + window) / 1000))
  end
  local remaining = math.max(0, math.floor(count - current - previous * left / window))
  return fits, remaining, current > 0 and left + window or previous > 0 and left or 0, retry_after
end
