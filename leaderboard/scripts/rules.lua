-- Shared opening of every script of a board: its rules, and numbers as bytes that keep their order.
--
-- ARGV[1] one character for each rule:
--   1 order     d highest first, a lowest first
--   2 ties      e earliest, l latest, m by id
--   3 subscore  n none, d highest first, a lowest first
--   4 ranking   o ordinal, c competition, d dense
--
-- A member of a sorted set is the id alone on plain boards (ties by id, no subscore). Otherwise
-- it is a prefix of fixed length and the id: eight bytes of subscore if the board has one (a missing
-- one is infinitely bad, and ranks last), then seven bytes of microseconds and five of a counter if ties go by time. Redis orders equal scores
-- by these bytes. The hash <entries>:at holds each player's prefix and, after it, the score's text:
-- one call finds both.
--
-- Functions that a board's rules do not need are not made: in a script of a few microseconds,
-- making thirty functions is a large part of the time.
local call = redis.call
local order, ties, sub_order, ranking = string.byte(ARGV[1], 1, 4)
local desc = order == 100
local timed = ties ~= 109
local with_sub = sub_order ~= 110
local stamped = timed or with_sub
local sub_length = with_sub and 8 or 0
local prefix_length = sub_length + (timed and 12 or 0)
local NO_SUB = with_sub and (sub_order == 100 and -math.huge or math.huge) or 0
local RANK = desc and 'ZREVRANK' or 'ZRANK'
local RANGE = desc and 'ZREVRANGE' or 'ZRANGE'

-- A text that gives the same double back, short where it can be; Lua's own has 14 digits. The last
-- one is kept, because a score goes into several sorted sets.
local last_number, last_text
local function number_text(number)
  if number == last_number then return last_text end
  local text
  if number % 1 == 0 and number < 1e15 and number > -1e15 then
    text = string.format('%d', number) -- the same digits, in a third of the time
  else
    text = string.format('%.15g', number)
    if tonumber(text) ~= number then text = string.format('%.17g', number) end
  end
  last_number, last_text = number, text
  return text
end

-- Eight bytes that sort as the doubles do.
local function sortable(number)
  if number == 0 then number = 0 end -- no negative zero
  local bytes = struct.pack('>d', number)
  local a, b, c, d, e, f, g, h = string.byte(bytes, 1, 8)
  if a < 128 then return string.char(a + 128, b, c, d, e, f, g, h) end
  return string.char(255 - a, 255 - b, 255 - c, 255 - d, 255 - e, 255 - f, 255 - g, 255 - h)
end

local function from_sortable(bytes, first)
  local a, b, c, d, e, f, g, h = string.byte(bytes, first, first + 7)
  if a >= 128 then return (struct.unpack('>d', string.char(a - 128, b, c, d, e, f, g, h))) end
  return (struct.unpack('>d', string.char(
    255 - a, 255 - b, 255 - c, 255 - d, 255 - e, 255 - f, 255 - g, 255 - h)))
end

local sub_bytes, prefix_sub, sub_text
if with_sub then
  -- The better subscore must sort on the side where the better score sorts.
  sub_bytes = function(subscore)
    return sortable(sub_order == order and subscore or -subscore)
  end

  prefix_sub = function(prefix)
    local number = from_sortable(prefix, 1)
    if sub_order ~= order then number = -number end
    return number == 0 and 0 or number
  end

  -- False for a missing one.
  sub_text = function(subscore)
    return subscore ~= NO_SUB and number_text(subscore)
  end
end

local stamp_bytes, prefix_stamp
if timed then
  -- The earlier must sort first or last, depending on the order and on who wins a tie.
  local inverted = desc == (ties == 101)
  local LAST_MICROSECOND, LAST_COUNT = 9007199254740991, 1099511627775

  stamp_bytes = function(microseconds, count)
    count = count % (LAST_COUNT + 1)
    if inverted then
      microseconds, count = LAST_MICROSECOND - microseconds, LAST_COUNT - count
    end
    return struct.pack('>I7I5', microseconds, count)
  end

  prefix_stamp = function(prefix)
    local microseconds, count = struct.unpack('>I7I5', prefix, sub_length + 1)
    if inverted then return LAST_MICROSECOND - microseconds, LAST_COUNT - count end
    return microseconds, count
  end
end
