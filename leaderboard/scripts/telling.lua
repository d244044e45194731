-- What everybody is told of a change, as JSON: the stream keeps it, the channel carries it to open
-- pages, a line for each when several come in one message. One field in the stream, because Redis
-- needs half of the time for it that it needs for a dozen; needs `places`.
--
-- ARGV[1] rules, further characters: 5 events (0/1), 6 notices (0/1)
local events, notices = string.byte(ARGV[1], 5, 6)
events, notices = events == 49, notices == 49
-- A key of another type must show before anything is written.
if events then call('XLEN', base .. ':events') end

local function quoted(text)
  return string.find(text, '[%c"\\]') and cjson.encode(text) or '"' .. text .. '"'
end

-- Given a list of notices, it is added there, for the caller to publish with others.
local function tell(news, gathered)
  if events then
    call('XADD', base .. ':events', 'MAXLEN', '~', extra.cap, '*', 'event', news)
  end
  if notices and gathered then
    gathered[#gathered + 1] = news
  elseif notices then
    call('SPUBLISH', base .. ':live', news)
  end
end
