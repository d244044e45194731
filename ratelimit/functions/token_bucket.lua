-- token_bucket: `burst` tokens at most, `count` flow in per window, a call takes its cost.
-- State: string of two doubles, a time and the tokens missing then. Missing rather than left, so
-- that a bucket made larger or smaller is right at once.
function token_bucket.ask(limit, key, cost, now, charging)
  local count, window, burst = limit.count, limit.window, limit.burst
  -- Sums of fractions are not exact; what flows in a nanosecond covers that.
  local rounding = count / window / 1000
  local at, missing = now, 0
  local state = call('GET', key)
  if state then
    at, missing = struct.unpack('<dd', state)
  end
  local late = at > now
  if not late then
    missing = missing - (now - at) * count / window
  end
  missing = math.max(0, math.min(missing, burst))
  local excess = missing + cost - burst
  local fits = excess <= rounding
  if charging and (fits or late) then
    if fits then
      missing = math.min(missing + cost, burst)
    end
    call('SET', key, struct.pack('<dd', now, missing),
      'PX', math.max(1, math.ceil(missing * window / count / 1000)))
  end
  return fits, math.floor(burst - missing + rounding),
    math.max(0, math.ceil((missing - rounding) * window / count)),
    fits and 0 or math.ceil((excess - rounding) * window / count)
end
