-- Tell of a change that is not a score; needs `places`.
--
-- include telling
local function announce(what, id, source, rank, previous_rank, trimmed, more)
  if not stamped and not events and not notices then return false end
  local sequence = call('INCR', base .. ':seq')
  if not events and not notices then return sequence end
  local time = call('TIME')
  local news = string.format(
    '{"op":"%s","id":%s,"seq":%d,"at":%.0f,"season":%s,"source":%s,"score":null,"rank":%s,'
      .. '"previous_rank":%s',
    what, id == '' and 'null' or quoted(id), sequence, time[1] * 1000000 + time[2],
    extra.season or 'null', quoted(source), rank or 'null', previous_rank or 'null')
  if what == 'limit' then news = news .. ',"limit":' .. limit end
  if trimmed and #trimmed > 0 then news = news .. ',"trimmed":' .. cjson.encode(trimmed) end
  tell(news .. (more or '') .. '}')
  return sequence
end
