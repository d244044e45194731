-- rules: how a board ranks and what it keeps. They come as one JSON text, from `Rules` and `Board`
-- in Python, and are decoded once per text.
--
--   order         'desc', 'asc'
--   ties          'earliest', 'latest', 'member'
--   ranking       'ordinal', 'competition', 'dense'
--   subscore      'desc', 'asc'; absent without one
--
-- Reads need no more. Writes, each absent where the board has none:
--
--   limit         the most entries
--   lowest, highest, largest_step, first_step, decimals   what a score may be
--   groups        names of details
--   season        the season of these entries, as text
--   from, until   microseconds in which these windows are the present ones
--   expires       for the board and each window, milliseconds as text, '' for never
--   events, event_cap, notices   whether to keep each change in the stream, how many, whether to
--                 publish it
--
-- `rules.of` adds what follows from these.
local MOST_KNOWN = 1000
local known, count = {}, 0

-- The length of the bytes before an id in a member; see stamps.lua.
local SUBSCORE_LENGTH, TIME_LENGTH = 8, 12

local function completed(board)
  board.desc = board.order == 'desc'
  board.timed = board.ties ~= 'member'
  board.stamped = board.timed or board.subscore ~= nil
  board.subscore_length = board.subscore and SUBSCORE_LENGTH or 0
  -- A missing subscore is infinitely bad, and ranks last.
  board.missing_subscore = board.subscore and (board.subscore == 'desc' and -math.huge or math.huge) or 0
  -- The better subscore must sort on the side where the better score sorts. The earlier must sort first
  -- or last, depending on the order and on who wins a tie.
  board.reversed = board.subscore ~= board.order
  board.counts_down = board.desc == (board.ties == 'earliest')
  board.prefix_length = board.subscore_length + (board.timed and TIME_LENGTH or 0)
  -- Which side of a sorted set is the best.
  board.rank_command = board.desc and 'ZREVRANK' or 'ZRANK'
  board.range_command = board.desc and 'ZREVRANGE' or 'ZRANGE'
  board.worst_command = board.desc and 'ZRANGE' or 'ZREVRANGE'
  -- Whether the sorted set <entries>:ranks is kept, and whether any is kept beside the entries.
  board.ranks_kept = board.ranking == 'dense'
    or (board.ranking == 'competition' and board.subscore ~= nil)
  board.indexed = board.ranks_kept or board.groups ~= nil
  board.told = board.events or board.notices or false
  board.numbered = board.stamped or board.told or false
  board.plain = not (board.stamped or board.told or board.groups or board.expires or board.season
    or board.lowest or board.highest or board.largest_step or board.decimals)
    and board.ranking == 'ordinal'
  board.needs_time = board.numbered or board.season or board.from
  board.bounded = board.lowest or board.highest or board.largest_step
  -- Most decimals are no doubles: without rounding, 0.1 + 0.7 is less than 0.8 and sums drift.
  board.precision = board.decimals and '%.' .. board.decimals .. 'f'
  return board
end

function rules.of(text)
  local found = known[text]
  if found then return found end
  if count == MOST_KNOWN then known, count = {}, 0 end
  found = completed(cjson.decode(text))
  known[text], count = found, count + 1
  return found
end
