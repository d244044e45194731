-- activity: what has lately happened on a board.

-- Add to a board's feed what has just happened there, each thing once, and publish it.
--
-- KEYS[1] the feed (list, newest first)
-- ARGV[1] how many are kept at most
-- ARGV[2] seconds for which the feed is kept after the last one
-- ARGV[3] channel of the board's feed: not a key, it lives in no slot
-- ARGV[4] the board's slug, which is published
-- ARGV[5...] what happened as JSON, the oldest first
-- Returns how many of them are new
local function add_activity(keys, args)
  local feed, most, kept, channel, slug = keys[1], tonumber(args[1]), args[2], args[3], args[4]
  local added = 0
  for at = 5, #args do
    -- The log comes again when a worker has died half way.
    if not call('LPOS', feed, args[at]) then
      call('LPUSH', feed, args[at])
      added = added + 1
    end
  end
  if added > 0 then
    call('LTRIM', feed, 0, most - 1)
    call('EXPIRE', feed, kept)
    call('PUBLISH', channel, slug)
  end
  return added
end

register('add_activity', add_activity)
