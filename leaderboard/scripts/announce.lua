-- The event and the notice of a change that is not a score; needs `places`.
--
-- ARGV[1] rules, further characters: 5 events (0/1), 6 notices (0/1)
local function announce(what, id, source, rank, previous_rank, trimmed)
  local events, notices = string.byte(ARGV[1], 5, 6)
  if not stamped and events ~= 49 and notices ~= 49 then return false end
  local sequence = call('INCR', base .. ':seq')
  local time = call('TIME')
  local now = string.format('%.0f', time[1] * 1000000 + time[2])
  if events == 49 then
    call('XADD', base .. ':events', 'MAXLEN', '~', extra.cap, '*', 'type', what, 'id', id,
      'seq', sequence, 'at', now, 'season', extra.season or '', 'source', source,
      'limit', what == 'limit' and limit or '',
      'trimmed', trimmed and #trimmed > 0 and cjson.encode(trimmed) or '')
  end
  if notices == 49 then
    call('SPUBLISH', base .. ':live', string.format(
      '{"seq":%d,"at":%s,"op":"%s","id":%s,"score":null,"rank":%s,"previous_rank":%s,"season":%s}',
      sequence, now, what, id == '' and 'null' or cjson.encode(id), rank or 'null',
      previous_rank or 'null', extra.season or 'null'))
  end
  return sequence
end
