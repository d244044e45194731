-- Let viewers go offline in a moment, unless one of their other tabs speaks up before.
-- KEYS[1]  sorted set of accounts
-- KEYS[2]  sorted set of viewers without a name
-- ARGV[1]  seconds after which a viewer counts as gone
-- ARGV[2]  seconds they get
-- ARGV[3]  channel on which other processes hear of it
-- ARGV[4]  the board, or '' for the site
-- ARGV[5…] viewers
-- Returns  how many of them were here
local expiring = tonumber(redis.call('TIME')[1]) - tonumber(ARGV[1]) + tonumber(ARGV[2])
local leaving = {}
for position = 5, #ARGV do
  local viewer = ARGV[position]
  local set = KEYS[string.sub(viewer, 1, 2) == 'u:' and 1 or 2]
  local seen = redis.call('ZSCORE', set, viewer)
  if seen and tonumber(seen) > expiring then
    redis.call('ZADD', set, expiring, viewer)
    leaving[#leaving + 1] = viewer
  end
end
if #leaving > 0 then
  redis.call('PUBLISH', ARGV[3], cjson.encode({board = ARGV[4], viewers = leaving}))
end
return #leaving
