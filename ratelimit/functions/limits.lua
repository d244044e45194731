-- limits: a call against every limit of a policy.
--
-- An algorithm is a module with `ask(limit, key, cost, now, charging, lease)`, `limit` having count,
-- window in microseconds and burst. It returns whether the cost fits, what remains, in how long nothing
-- will be counted any more, and in how long the cost will fit. It charges when it is asked to and the
-- cost fits; a denied call writes nothing. The one exception is a state from the future, left by a
-- clock that stepped back: it is moved to the present, so that no caller waits longer than the
-- limit's own window.
local ALGORITHMS = {
  fixed_window = fixed_window, sliding_log = sliding_log, sliding_counter = sliding_counter,
  token_bucket = token_bucket, gcra = gcra, at_once = at_once,
}

local MOST_KNOWN = 1000
local known, count = {}, 0

-- The limits of a policy's text, decoded once.
local function limits_of(text)
  local found = known[text]
  if found then return found end
  if count == MOST_KNOWN then known, count = {}, 0 end
  found = {}
  for number, limit in ipairs(cjson.decode(text)) do
    local algorithm, most, window, burst = unpack(limit)
    found[number] = {ask = ALGORITHMS[algorithm].ask, count = most, window = window, burst = burst}
  end
  known[text], count = found, count + 1
  return found
end

local function now_of(given)
  if given then return tonumber(given) end
  local time = call('TIME')
  return time[1] * 1000000 + time[2]
end

-- Look at all limits first. When all fit, charge all; when not, only those that do not fit are asked to
-- charge, which moves a state from the future and changes nothing else.
local function ask_all(policy, keys, cost, now, charging, lease)
  local all_fit, fitting = true, {}
  for number, limit in ipairs(policy) do
    fitting[number] = limit.ask(limit, keys[number], cost, now, false, lease)
    all_fit = all_fit and fitting[number]
  end
  local reply = {all_fit and 1 or 0}
  for number, limit in ipairs(policy) do
    local charges = charging and (all_fit or not fitting[number])
    local _, remaining, reset_after, retry_after = limit.ask(
      limit, keys[number], cost, now, charges, lease)
    reply[number * 3 - 1], reply[number * 3], reply[number * 3 + 1] = remaining, reset_after, retry_after
  end
  return reply
end

local function ask(keys, args, charging)
  local policy, cost, lease, now = limits_of(args[1]), tonumber(args[2]), args[3], now_of(args[4])
  if #policy > 1 then return ask_all(policy, keys, cost, now, charging, lease) end
  local limit = policy[1]
  local fits, remaining, reset_after, retry_after = limit.ask(limit, keys[1], cost, now, charging, lease)
  return {fits and 1 or 0, remaining, reset_after, retry_after}
end

-- Charge a call to every limit of a policy, or to none of them.
--
-- KEYS    the state of each limit, in the order of the policy; all in one slot
-- ARGV[1] the policy as JSON: for each limit [algorithm, count, window in microseconds, burst]
-- ARGV[2] the cost of the call
-- ARGV[3] the id of a lease, for at_once; else '' or absent
-- ARGV[4] the time in microseconds, in tests; else absent
-- Returns {1 or 0, then three per limit: remaining, reset_after, retry_after in microseconds}
local function hit(keys, args) return ask(keys, args, true) end

register('hit', hit)

-- What `hit` would answer, charging nothing.
--
-- KEYS, ARGV and Returns as of `hit`
local function peek(keys, args) return ask(keys, args, false) end

register_read('peek', peek)
