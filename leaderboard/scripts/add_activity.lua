-- Add to a board's feed what has just happened there, each thing once, and tell who listens.
--
-- KEYS[1] the feed (list, newest first)
-- ARGV[1] how many are kept at most
-- ARGV[2] seconds for which the feed is kept after the last one
-- ARGV[3] channel of the board's feed: not a key, it lives in no slot
-- ARGV[4] the board's slug, which is published
-- ARGV[5] … what happened as JSON, the oldest first
-- Returns how many of them are new
local feed, most = KEYS[1], tonumber(ARGV[1])
local added = 0
for index = 5, #ARGV do
  -- The log comes again when a worker has died half way.
  if not redis.call('LPOS', feed, ARGV[index]) then
    redis.call('LPUSH', feed, ARGV[index])
    added = added + 1
  end
end
if added > 0 then
  redis.call('LTRIM', feed, 0, most - 1)
  redis.call('EXPIRE', feed, ARGV[2])
  redis.call('PUBLISH', ARGV[3], ARGV[4])
end
return added
