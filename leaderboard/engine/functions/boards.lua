-- boards: the rules of a call together with the names of its keys.
--
--   rules     see rules.lua
--   base      the base key; user, the beginning of a player's hash of details
--   hidden, sequence, quiet, pointer, stream, live   keys of the board, see leaderboard/keys.py
--   places    its own entries and those of its windows, in the order of KEYS:
--     entries   sorted set of members
--     aside     sorted set of the members of hidden players
--     stamps    hash: id → prefix and score, where members have a prefix
--     ranks     sorted set beside the entries, where rules.ranks_kept
--     groups    for each of rules.groups the sorted set of its members
--     expires   when the place may go, milliseconds as text, or nil
--   main      places[1]
--
-- Boards are kept between calls, because making a dozen names anew costs about a microsecond.
local MOST_KNOWN = 1000
local known, count = {}, 0

-- The keys of a place.
function boards.place(entries, groups, expires)
  local place = {
    entries = entries, aside = entries .. ':aside', stamps = entries .. ':at',
    ranks = entries .. ':ranks', groups = {}, expires = expires ~= '' and expires or nil,
  }
  for number, field in ipairs(groups or {}) do place.groups[number] = entries .. ':by:' .. field end
  return place
end

local function board_of(keys, text)
  local base, found = keys[1], rules.of(text)
  local board = {
    rules = found, keys = keys, base = base, user = base .. ':user:', hidden = base .. ':hidden',
    sequence = base .. ':seq', quiet = base .. ':quiet', pointer = base .. ':season',
    stream = base .. ':events', live = base .. ':live', places = {},
  }
  local expires = found.expires or {}
  for number = 2, #keys do
    board.places[number - 1] = boards.place(keys[number], found.groups, expires[number - 1])
  end
  board.main = board.places[1]
  return board
end

local function has_keys(board, keys)
  local own = board.keys
  if #own ~= #keys then return false end
  for number = 1, #keys do
    if own[number] ~= keys[number] then return false end
  end
  return true
end

function boards.of(keys, text)
  local of_text = known[text]
  local board = of_text and of_text[keys[2]]
  if board and has_keys(board, keys) then return board end
  if count == MOST_KNOWN then known, count, of_text = {}, 0, nil end
  if not of_text then
    of_text = {}
    known[text] = of_text
  end
  board = board_of(keys, text)
  of_text[keys[2]], count = board, count + 1
  return board
end
