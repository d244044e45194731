-- notices: what a player missed, in a stream of the player's own.

-- Keep a notice for a player and send it to the player's open pages, unless it was sent lately.
--
-- KEYS[1] the player's notices (stream)
-- KEYS[2] mark that this was sent (string)
-- ARGV[1] seconds for which the same is not sent again, 0 to send always
-- ARGV[2] seconds for which notices are kept
-- ARGV[3] how many are kept at most, about
-- ARGV[4] the notice as JSON
-- ARGV[5] the player's id
-- ARGV[6] channel of all notices: not a key, it lives in no slot
-- Returns the notice's id, or nil when it was sent already
local function add_notice(keys, args)
  local stream, mark = unpack(keys)
  local pause, kept, most, notice, player, channel = unpack(args)
  if pause ~= '0' and not call('SET', mark, '1', 'NX', 'EX', pause) then return false end
  local oldest = moments.now() / 1000 - kept * 1000
  local id = call('XADD', stream, 'MAXLEN', '~', most, '*', 'notice', notice)
  call('XTRIM', stream, 'MINID', string.format('%.0f', oldest))
  call('EXPIRE', stream, kept)
  call('PUBLISH', channel, string.format(
    '{"player":%s,"id":"%s","notice":%s}', cjson.encode(player), id, notice))
  return id
end

register('add_notice', add_notice)

-- How many notices a player has not read, by board: who may not see a board any more must not learn
-- that something happened there.
--
-- KEYS[1] the player's notices (stream)
-- KEYS[2] id of the last one read (string)
-- ARGV[1] count up to this many
-- Returns slugs and numbers in turn
local function count_notices(keys, args)
  local read = call('GET', keys[2]) or '0-0'
  local counts, answer = {}, {}
  for _, entry in ipairs(call('XRANGE', keys[1], '(' .. read, '+', 'COUNT', args[1])) do
    local slug = cjson.decode(entry[2][2]).board
    counts[slug] = (counts[slug] or 0) + 1
  end
  for slug, count in pairs(counts) do
    answer[#answer + 1], answer[#answer + 2] = slug, count
  end
  return answer
end

register_read('count_notices', count_notices)
