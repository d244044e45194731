-- sliding_log: exact. Every unit charged is remembered until it is a window old.
-- State: sorted set, one member per unit, scored by its time in microseconds. The members of one
-- microsecond are numbered; they leave together, so their numbers have no gaps.
function sliding_log.ask(limit, key, cost, now, charging)
  local count, window = limit.count, limit.window
  local used, newest = 0, nil
  local oldest_counted = string.format('(%.0f', now - window)
  local last = call('ZREVRANGE', key, 0, 0, 'WITHSCORES')
  if last[1] then
    newest = tonumber(last[2])
    used = call('ZCOUNT', key, oldest_counted, '+inf')
  end
  local late = newest and newest > now
  local excess = used + cost - count
  local fits = excess <= 0
  local retry_after = 0
  if not fits then
    -- It fits when the `excess` oldest have left.
    local leaving = call('ZRANGEBYSCORE', key, oldest_counted, '+inf', 'WITHSCORES',
      'LIMIT', math.max(0, math.min(excess, used) - 1), 1)
    retry_after = math.min(tonumber(leaving[2]) or now, now) + window - now
  end
  if charging and (fits or late) then
    local adding, taken = fits and cost or 0, 0
    call('ZREMRANGEBYSCORE', key, '-inf', now - window)
    if late then
      adding = adding + call('ZREMRANGEBYSCORE', key, string.format('(%.0f', now), '+inf')
    end
    if newest and newest >= now then
      taken = call('ZCOUNT', key, now, now)
    end
    if adding == 1 then
      call('ZADD', key, now, string.format('%.0f:%d', now, taken + 1))
    else
      for first = 1, adding, 1000 do
        local members = {}
        for number = first, math.min(first + 999, adding) do
          members[#members + 1] = now
          members[#members + 1] = string.format('%.0f:%d', now, taken + number)
        end
        call('ZADD', key, unpack(members))
      end
    end
    call('PEXPIRE', key, math.ceil(window / 1000))
    if fits then
      used, newest = used + cost, now
    end
  end
  local reset_after = used > 0 and math.min(newest, now) + window - now or 0
  return fits, math.max(0, count - used), reset_after, retry_after
end
