-- gcra: calls are due one spacing (window / count) apart, and may come `burst` spacings early.
-- Whole microseconds, rounded up, so that never more than the limit gets through.
-- State: string of two doubles, when the next call would be due had all so far kept their
-- distance, and the spacing it was reckoned with.
function gcra.ask(limit, key, cost, now, charging)
  local count, window, burst = limit.count, limit.window, limit.burst
  local spacing = math.ceil(window / count)
  local due, old_spacing = now, spacing
  local state = call('GET', key)
  if state then
    due, old_spacing = struct.unpack('<dd', state)
    if due < now then
      due = now
    elseif old_spacing ~= spacing then
      -- The policy changed: as many calls are owed as before, at the new distance.
      due = now + math.ceil((due - now) * spacing / old_spacing)
    end
  end
  local furthest = now + burst * spacing
  local late = due > furthest
  if late then
    due = furthest
  end
  local excess = due + cost * spacing - furthest
  local fits = excess <= 0
  if charging and (fits or late) then
    if fits then
      due = due + cost * spacing
    end
    call('SET', key, struct.pack('<dd', due, spacing),
      'PX', math.max(1, math.ceil((due - now) / 1000)))
  end
  return fits, math.floor((furthest - due) / spacing), due - now, fits and 0 or excess
end
