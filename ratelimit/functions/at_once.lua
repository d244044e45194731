-- at_once: how many hold a lease. A lease ends when it is given back, or a window after it was
-- last renewed, whatever happened to its holder. Taking a lease again renews it. Costs one.
-- State: sorted set of lease ids, scored by when each ends in microseconds.
function at_once.ask(limit, key, cost, now, charging, lease)
  local count, window = limit.count, limit.window
  local after_now = string.format('(%.0f', now)
  local after_latest = string.format('(%.0f', now + window)
  local held = call('ZCOUNT', key, after_now, '+inf')
  local own_end = lease and call('ZSCORE', key, lease)
  local own = own_end and tonumber(own_end) > now
  local late = call('ZCOUNT', key, after_latest, '+inf') > 0
  local fits = own or held < count
  local retry_after = 0
  if not fits then
    local next_end = call('ZRANGEBYSCORE', key, after_now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    retry_after = math.min(tonumber(next_end[2]) - now, window)
  end
  if charging and (fits or late) then
    call('ZREMRANGEBYSCORE', key, '-inf', now)
    if late then
      for _, id in ipairs(call('ZRANGEBYSCORE', key, after_latest, '+inf')) do
        call('ZADD', key, now + window, id)
      end
    end
    if fits then
      call('ZADD', key, now + window, lease)
      held = own and held or held + 1
    end
    call('PEXPIRE', key, math.ceil(window / 1000))
  end
  return fits and true or false, math.max(0, count - held), held > 0 and window or 0, retry_after
end
