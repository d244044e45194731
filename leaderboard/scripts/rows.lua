-- Submissions as they arrive: id, value, a letter and the number of details, and each detail's name
-- and value. The letter is the operator (s set, b best, i add, d details only). A capital letter
-- says that three more values stand before the details, '' where there is none: subscore,
-- idempotency key and source.
local SET, BEST, ADD, DETAILS = 115, 98, 105, 100

-- Returns operator, number of details, where they begin, subscore, idempotency key, source.
local function read_row(at)
  local code = ARGV[at + 2]
  local letter, count = string.byte(code), tonumber(string.sub(code, 2))
  if letter > 96 then return letter, count, at + 3, nil, '', '' end
  return letter + 32, count, at + 6, tonumber(ARGV[at + 3]), ARGV[at + 4], ARGV[at + 5]
end

local function next_row(at)
  local _, count, first = read_row(at)
  return first + 2 * count
end

-- A player's details before and after a submission.
local MOST_DETAILS, MOST_DETAIL_BYTES = 32, 4096

-- Merge ARGV[first...] into the details a player has, without writing.
-- Returns the list of names and values, or false and a code; whether the given ones are all there
-- are, so that the caller need not be told; and whether they are already stored as given.
local function merged_details(user, first, count)
  local details = call('HGETALL', user)
  local covered, same = #details == 2 * count, true
  if covered then
    for at = 1, #details, 2 do
      if details[at] ~= ARGV[first + at - 1] then
        covered = false
        break
      end
      same = same and details[at + 1] == ARGV[first + at]
    end
  end
  if covered then return details, true, same end
  if count == 0 then return details, false, true end
  if #details == 0 then return details, true, false end
  local places, bytes = {}, 0
  for at = 1, #details, 2 do places[details[at]] = at end
  for at = first, first + 2 * count - 1, 2 do
    local place = places[ARGV[at]] or #details + 1
    places[ARGV[at]] = place
    details[place], details[place + 1] = ARGV[at], ARGV[at + 1]
  end
  for at = 1, #details do bytes = bytes + #details[at] end
  if #details > 2 * MOST_DETAILS then return false, 'too_many_details' end
  if bytes > MOST_DETAIL_BYTES then return false, 'details_too_large' end
  return details, false, false
end
