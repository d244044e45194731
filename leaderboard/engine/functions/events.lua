-- events: what is published of a change, as JSON. The stream keeps it, the channel carries it to open
-- pages, a line for each when several come in one message. One field in the stream, because Redis
-- needs half the time for it that it needs for a dozen.

-- A key of another type must show before anything is written.
function events.check(board)
  if board.rules.events then call('XLEN', board.stream) end
end

local function quoted(text)
  if text == '' then return '""' end
  return text:find('[%c"\\]') and cjson.encode(text) or '"' .. text .. '"'
end

-- What changed nothing that a board shows is kept in the stream, and open pages need not hear of it.
local function publish(writer, board, event, shown)
  if board.rules.events then
    call('XADD', board.stream, 'MAXLEN', '~', board.rules.event_cap, '*', 'event', event)
  end
  if shown and board.rules.notices then writer:publish(board, event) end
end

-- A sequence that changed nothing: <base>:quiet keeps it behind the last one that changed something,
-- so that reads know how the board is. Costs nothing when something changes.
function events.keep_quiet(board, sequence, count)
  local changed = sequence - count
  local quiet = call('GET', board.quiet)
  if quiet then
    local before, until_then = quiet:match('(%d+) (%d+)')
    if tonumber(until_then) == changed then changed = before end
  end
  call('SET', board.quiet, string.format('%d %d', changed, sequence))
end

local function trimmed_text(ids)
  return #ids > 0 and ',"trimmed":' .. cjson.encode(ids) or ''
end

-- Publish a row that was written.
function events.score(writer, board, row, player, change, rank, trimmed, now)
  local rules, entry, previous = board.rules, change.entry, player.entries[1]
  local more = ''
  if rules.subscore then
    more = ',"subscore":' .. (entry and stamps.subscore_text(rules, entry.subscore) or 'null')
      .. ',"given_subscore":' .. (row.subscore and numbers.text(row.subscore) or 'null')
  end
  if row.key then more = more .. ',"key":' .. quoted(row.key) end
  if rules.events and not player.same then
    more = more .. ',"details":' .. cjson.encode(details.given(row))
  end
  if trimmed then more = more .. trimmed_text(trimmed) end
  local what, operator, value = 'score', row.operator, row.args[row.at + 1]
  if operator == 'details' then what, operator, value = 'details', '', 'null' end
  publish(writer, board, '{"op":"' .. what .. '","id":' .. quoted(row.id)
    .. ',"seq":' .. change.sequence .. ',"at":' .. moments.text(now)
    .. ',"season":' .. (rules.season or 'null') .. ',"source":' .. quoted(row.source)
    .. ',"operator":"' .. operator .. '","value":' .. value
    .. ',"score":' .. (entry and entry.text or 'null')
    .. ',"previous":' .. (previous and previous.text or 'null')
    .. ',"rank":' .. (rank or 'null') .. ',"previous_rank":' .. (change.previous_rank or 'null')
    .. more .. '}', change.moved)
end

-- Publish a change that is not a score: `what` happened to the player `id`, '' for the whole board. The
-- outcome may have rank, previous_rank, limit, details and trimmed ids.
function events.announce(board, what, id, source, outcome)
  local rules = board.rules
  if not rules.numbered then return end
  local sequence = call('INCR', board.sequence)
  if not rules.published then return end
  local event = string.format(
    '{"op":"%s","id":%s,"seq":%d,"at":%s,"season":%s,"source":%s,"score":null,"rank":%s,'
      .. '"previous_rank":%s',
    what, id == '' and 'null' or quoted(id), sequence, moments.text(moments.now()),
    rules.season or 'null', quoted(source), outcome.rank or 'null', outcome.previous_rank or 'null')
  if outcome.limit then event = event .. ',"limit":' .. outcome.limit end
  if outcome.details then event = event .. ',"details":' .. cjson.encode(outcome.details) end
  publish(direct, board, event .. (outcome.trimmed and trimmed_text(outcome.trimmed) or '') .. '}', true)
end

-- Move an event that cannot be stored to the dead letters, so that those behind it are stored.
--
-- KEYS[1] event stream, KEYS[2] dead letters (stream), KEYS[3] failures (hash: event id → count)
-- ARGV[1] consumer group, ARGV[2] event id, ARGV[3] reason, ARGV[4...] the event's fields
-- Returns the id among the dead letters, or nil when somebody else has dealt with the event
local function bury_event(keys, args)
  local stream, letters, failures = unpack(keys)
  local group, id, reason = unpack(args)
  call('HDEL', failures, id)
  if call('XACK', stream, group, id) == 0 then return false end
  return call('XADD', letters, '*', 'event', id, 'reason', reason, unpack(args, 4))
end

register('bury_event', bury_event)
