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

local function completed(own)
  own.desc = own.order == 'desc'
  own.timed = own.ties ~= 'member'
  own.stamped = own.timed or own.subscore ~= nil
  own.subscore_length = own.subscore and SUBSCORE_LENGTH or 0
  -- A missing subscore is infinitely bad, and ranks last.
  own.missing_subscore = own.subscore and (own.subscore == 'desc' and -math.huge or math.huge) or 0
  -- The better subscore must sort on the side where the better score sorts. The earlier must sort first
  -- or last, depending on the order and on who wins a tie.
  own.reversed = own.subscore ~= own.order
  own.counts_down = own.desc == (own.ties == 'earliest')
  own.prefix_length = own.subscore_length + (own.timed and TIME_LENGTH or 0)
  -- Which side of a sorted set is the best.
  own.rank_command = own.desc and 'ZREVRANK' or 'ZRANK'
  own.range_command = own.desc and 'ZREVRANGE' or 'ZRANGE'
  own.worst_command = own.desc and 'ZRANGE' or 'ZREVRANGE'
  -- Whether the sorted set <entries>:ranks is kept, and whether any is kept beside the entries.
  own.ranks_kept = own.ranking == 'dense'
    or (own.ranking == 'competition' and own.subscore ~= nil)
  own.indexed = own.ranks_kept or own.groups ~= nil
  own.published = own.events or own.notices or false
  own.numbered = own.stamped or own.published or false
  own.plain = not (own.stamped or own.published or own.groups or own.expires or own.season
    or own.lowest or own.highest or own.largest_step or own.decimals)
    and own.ranking == 'ordinal'
  own.needs_time = own.numbered or own.season or own.from
  own.bounded = own.lowest or own.highest or own.largest_step
  -- Most decimals are no doubles: without rounding, 0.1 + 0.7 is less than 0.8 and sums drift.
  own.precision = own.decimals and '%.' .. own.decimals .. 'f'
  return own
end

function rules.of(text)
  local found = known[text]
  if found then return found end
  if count == MOST_KNOWN then known, count = {}, 0 end
  found = completed(cjson.decode(text))
  known[text], count = found, count + 1
  return found
end
