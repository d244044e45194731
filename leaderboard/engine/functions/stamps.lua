-- stamps: the bytes before an id.
--
-- A member of a sorted set is the id alone on plain boards (ties by id, no subscore). Otherwise it is
-- a prefix of fixed length and the id: eight bytes of subscore if the board has one (a missing one is
-- infinitely bad), then seven bytes of microseconds and five of a counter if ties go by time. Redis
-- orders equal scores by these bytes.
-- The hash <entries>:at holds each player's prefix and, after it, the score's text: one call finds
-- both.
local LAST_MICROSECOND, LAST_COUNT = 9007199254740991, 1099511627775
local TIME = '>I7I5'

-- The better subscore must sort on the side where the better score sorts.
local function is_reversed(rules) return rules.subscore ~= rules.order end

-- The earlier must sort first or last, depending on the order and on who wins a tie.
local function counts_down(rules) return rules.desc == (rules.ties == 'earliest') end

-- The bytes of a time; '' where ties do not go by time.
function stamps.time_bytes(rules, microseconds, counter)
  if not rules.timed then return '' end
  counter = counter % (LAST_COUNT + 1)
  if counts_down(rules) then
    microseconds, counter = LAST_MICROSECOND - microseconds, LAST_COUNT - counter
  end
  return struct.pack(TIME, microseconds, counter)
end

-- The prefix of an entry with this subscore and these bytes of time.
function stamps.prefix(rules, subscore, time)
  if not rules.subscore then return time end
  return numbers.sortable(is_reversed(rules) and -subscore or subscore) .. time
end

-- The subscore in a prefix, or in what begins with one.
function stamps.subscore(rules, prefix)
  local number = numbers.from_sortable(prefix, 1)
  if is_reversed(rules) then number = -number end
  return number == 0 and 0 or number
end

-- The text of a subscore; false for a missing one.
function stamps.subscore_text(rules, subscore)
  return subscore ~= rules.missing_subscore and numbers.text(subscore)
end

-- The microseconds and the counter in a prefix.
function stamps.time(rules, prefix)
  local microseconds, counter = struct.unpack(TIME, prefix, rules.subscore_length + 1)
  if counts_down(rules) then return LAST_MICROSECOND - microseconds, LAST_COUNT - counter end
  return microseconds, counter
end
