-- Charge a call to every limit of a policy, or to none of them; or only look.
--
-- `ratelimit/algorithms.py` puts the policy's algorithms, and whether to charge, in the place
-- marked below: a script for each combination in use, which is a handful, and each no longer
-- than its policy needs.
--
-- KEYS  the state of each limit, in the order of the limits in ARGV; all in one slot
-- ARGV  the cost of the call, then three per limit: count, window in microseconds, burst;
--       then, optional, the id of a lease (at_once) and the time in microseconds (tests)
-- Returns {1 or 0, then three per limit: remaining, reset_after, retry_after in microseconds}

local limits = #KEYS
local lease = ARGV[limits * 3 + 2]
local now = tonumber(ARGV[limits * 3 + 3])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- An algorithm is a function(key, cost, count, window, burst, charging). It returns whether the
-- cost fits, what remains, in how long nothing will be counted any more, and in how long the cost
-- will fit. It charges when it is told to and the cost fits; a denied call writes nothing. The one
-- exception is a state from the future, left by a clock that stepped back: it is moved to the
-- present, so that nobody waits longer than the limit's own window.
--{algorithms}

local cost = tonumber(ARGV[1])
if limits == 1 then
  local fits, remaining, reset_after, retry_after = algorithms[1](
    KEYS[1], cost, tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), charging)
  return {fits and 1 or 0, remaining, reset_after, retry_after}
end

local function pass(position, charging)
  return algorithms[position](KEYS[position], cost, tonumber(ARGV[position * 3 - 1]),
    tonumber(ARGV[position * 3]), tonumber(ARGV[position * 3 + 1]), charging)
end

-- Look at all of them first. When all fit, charge all; when not, only those that do not fit are
-- told to charge, which moves a state from the future and changes nothing else.
local all_fit, fitting = true, {}
for position = 1, limits do
  fitting[position] = pass(position, false)
  all_fit = all_fit and fitting[position]
end
local reply = {all_fit and 1 or 0}
for position = 1, limits do
  local _, remaining, reset_after, retry_after = pass(
    position, charging and (all_fit or not fitting[position]))
  reply[position * 3 - 1] = remaining
  reply[position * 3] = reset_after
  reply[position * 3 + 1] = retry_after
end
return reply
