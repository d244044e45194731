-- Which of these accounts are here.
-- KEYS[1]  sorted set of accounts
-- ARGV[1]  seconds after which a viewer counts as gone
-- ARGV[2…] accounts
-- Returns  1 or 0 for each
local after = redis.call('TIME')[1] - ARGV[1]
local here = {}
for position = 2, #ARGV do
  local seen = redis.call('ZSCORE', KEYS[1], ARGV[position])
  here[position - 1] = seen and tonumber(seen) > after and 1 or 0
end
return here
