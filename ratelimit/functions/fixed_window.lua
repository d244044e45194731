-- fixed_window: a count that starts again when its window is over. The window opens with its
-- first call, so that not everybody's ends at the same moment.
-- State: string of two doubles, when the window opened and what it counted.
function fixed_window.ask(limit, key, cost, now, charging)
  local count, window = limit.count, limit.window
  local opened, used = now, 0
  local state = call('GET', key)
  if state then
    opened, used = struct.unpack('<dd', state)
  end
  local late = opened > now
  if late then
    opened = now
  elseif now >= opened + window then
    opened, used = now, 0
  end
  local left = opened + window - now
  local fits = used + cost <= count
  if charging and (fits or late) then
    if fits then
      used = used + cost
    end
    call('SET', key, struct.pack('<dd', opened, used), 'PX', math.ceil(left / 1000))
  end
  return fits, math.max(0, count - used), used > 0 and left or 0, fits and 0 or left
end
