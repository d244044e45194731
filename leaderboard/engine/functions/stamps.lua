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

-- The bytes of a time; '' where ties do not go by time.
function stamps.time_bytes(rules, microseconds, counter)
  if not rules.timed then return '' end
  counter = counter % (LAST_COUNT + 1)
  if rules.counts_down then
    microseconds, counter = LAST_MICROSECOND - microseconds, LAST_COUNT - counter
  end
  return struct.pack(TIME, microseconds, counter)
end

-- The prefix of an entry with a subscore and these bytes of time.
function stamps.prefix(rules, subscore, time)
  return numbers.sortable(rules.reversed and -subscore or subscore) .. time
end

-- The subscore in a prefix, or in what begins with one.
function stamps.subscore(rules, prefix)
  local number = numbers.from_sortable(prefix, 1)
  if rules.reversed then number = -number end
  return number == 0 and 0 or number
end

-- The text of a subscore; false for a missing one.
function stamps.subscore_text(rules, subscore)
  return subscore ~= rules.missing_subscore and numbers.text(subscore)
end

-- The microseconds and the counter in a prefix.
function stamps.time(rules, prefix)
  local microseconds, counter = struct.unpack(TIME, prefix, rules.subscore_length + 1)
  if rules.counts_down then return LAST_MICROSECOND - microseconds, LAST_COUNT - counter end
  return microseconds, counter
end
