-- Submissions as they arrive: id, value, a letter and the number of details, and each detail's name
-- and value. A second number behind a blank says how many names follow of details to remove. The letter is the operator (s set, b best, i add, d details only). A capital letter
-- says that three more values stand before the details, '' where there is none: subscore,
-- idempotency key and source.
local SET, BEST, ADD, DETAILS = 115, 98, 105, 100

-- Returns operator, number of details, where they begin, subscore, idempotency key, source, number of
-- names to remove.
local function read_row(at)
  local code = ARGV[at + 2]
  local letter, count, gone = string.byte(code), tonumber(string.sub(code, 2)), 0
  if not count then
    count, gone = string.match(code, '(%d+) (%d+)')
    count, gone = tonumber(count), tonumber(gone)
  end
  if letter > 96 then return letter, count, at + 3, nil, '', '', gone end
  return letter + 32, count, at + 6, tonumber(ARGV[at + 3]), ARGV[at + 4], ARGV[at + 5], gone
end

local function next_row(at)
  local _, count, first, _, _, _, gone = read_row(at)
  return first + 2 * count + gone
end

-- A player's details before and after a submission.
local MOST_DETAILS, MOST_DETAIL_BYTES = 32, 4096

-- Merge ARGV[first...] into the details a player has, less those that shall be gone, without writing.
-- Returns the list of names and values, or false and a code; whether the given ones are all there
-- are, so that the caller need not be told; and whether they are already stored as given.
local function merged_details(user, first, count, gone)
  local details = call('HGETALL', user)
  local covered, same = gone == 0 and #details == 2 * count, true
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
  if count + gone == 0 then return details, false, true end
  if #details == 0 and gone == 0 then return details, true, false end
  local places, bytes = {}, 0
  same = gone > 0
  for at = 1, #details, 2 do places[details[at]] = at end
  for at = first, first + 2 * count - 1, 2 do
    local place = places[ARGV[at]] or #details + 1
    same = same and details[place + 1] == ARGV[at + 1]
    places[ARGV[at]] = place
    details[place], details[place + 1] = ARGV[at], ARGV[at + 1]
  end
  if gone > 0 then
    local before, removed = details, {}
    for at = first + 2 * count, first + 2 * count + gone - 1 do
      same = same and not places[ARGV[at]]
      removed[ARGV[at]] = true
    end
    details = {}
    for at = 1, #before, 2 do
      if not removed[before[at]] then
        details[#details + 1] = before[at]
        details[#details + 1] = before[at + 1]
      end
    end
  end
  for at = 1, #details do bytes = bytes + #details[at] end
  if #details > 2 * MOST_DETAILS then return false, 'too_many_details' end
  if bytes > MOST_DETAIL_BYTES then return false, 'details_too_large' end
  return details, false, same
end
