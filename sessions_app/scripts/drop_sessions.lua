-- Take entries that were found without a session out of a user's index, unless they were written
-- again since: then their session was just being made, and its entry must stay.
-- KEYS[1]  the user's sorted set of sessions
-- ARGV     SHA-256 and score as they were found, SHA-256, score, …
-- Returns  how many went
local gone = 0
for position = 1, #ARGV, 2 do
  local score = redis.call('ZSCORE', KEYS[1], ARGV[position])
  if score and tonumber(score) == tonumber(ARGV[position + 1]) then
    gone = gone + redis.call('ZREM', KEYS[1], ARGV[position])
  end
end
return gone
