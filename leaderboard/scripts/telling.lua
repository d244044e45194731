-- What everybody is told of a change, as JSON: the stream keeps it, the channel carries it to open
-- pages, a line for each when several come in one message. One field in the stream, because Redis
-- needs half of the time for it that it needs for a dozen; needs `places`.
--
-- ARGV[1] rules, further characters: 5 events (0/1), 6 notices (0/1)
local events, notices = string.byte(ARGV[1], 5, 6)
events, notices = events == 49, notices == 49
-- A key of another type must show before anything is written.
if events then call('XLEN', base .. ':events') end

-- A sequence that changed nothing: `:quiet` keeps it behind the last one that changed something, so
-- that reads know how the board stands. Costs nothing when something changes.
local function keep_quiet(sequence, count)
  local changed = sequence - count
  local quiet = call('GET', base .. ':quiet')
  if quiet then
    local before, until_then = string.match(quiet, '(%d+) (%d+)')
    if tonumber(until_then) == changed then changed = before end
  end
  call('SET', base .. ':quiet', string.format('%d %d', changed, sequence))
end

local function quoted(text)
  return string.find(text, '[%c"\\]') and cjson.encode(text) or '"' .. text .. '"'
end

-- Given a list of notices, it is added there, for the caller to publish with others. What changed
-- nothing that a board shows is kept in the stream, and open pages need not hear of it.
local function tell(news, gathered, quiet)
  if events then
    call('XADD', base .. ':events', 'MAXLEN', '~', extra.cap, '*', 'event', news)
  end
  if quiet then return end
  if notices and gathered then
    gathered[#gathered + 1] = news
  elseif notices then
    call('SPUBLISH', base .. ':live', news)
  end
end
