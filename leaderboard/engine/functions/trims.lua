-- trims: keeping places within the size limit, and details as long as their player has entries.

-- More than this in one call would keep other clients waiting.
trims.MOST = 10000

local function is_in(board, place, id)
  if board.rules.stamped then return call('HEXISTS', place.stamps, id) == 1 end
  return call('ZSCORE', place.entries, id) or call('ZSCORE', place.aside, id)
end

-- Details live as long as the player has an entry: for ever with one on the board itself, else as long
-- as the last of the windows.
function trims.release_details(board, id)
  local user, latest = board.user .. id, nil
  for number, place in ipairs(board.places) do
    if is_in(board, place, id) then
      if number == 1 then return end
      if not place.expires then
        call('PERSIST', user)
        return
      end
      latest = math.max(latest or 0, tonumber(place.expires))
    end
  end
  if latest then call('PEXPIREAT', user, moments.text(latest)) else call('DEL', user) end
end

-- Take the worst out of a place until the limit holds. Returns their ids, the worst first, or false.
function trims.place(board, place)
  local rules = board.rules
  if not rules.limit then return false end
  local over = math.min(call('ZCARD', place.entries) - rules.limit, trims.MOST)
  if over <= 0 then return false end
  local worst, ids = call(rules.worst_command, place.entries, 0, over - 1, 'WITHSCORES'), {}
  for at = 1, #worst, 2 do
    local member, score = worst[at], worst[at + 1]
    local id = member:sub(rules.prefix_length + 1)
    ids[#ids + 1] = id
    if rules.indexed then
      local entry = entries.of_member(rules, member, score, groups.values(board, id))
      indexes.remove(direct, board, place, entry)
    end
    call('ZREM', place.entries, member)
    if rules.stamped then call('HDEL', place.stamps, id) end
    trims.release_details(board, id)
  end
  return ids
end

-- Trim the places that a player has entered. Returns the ids trimmed from the board itself, or false.
function trims.after(board, player)
  local trimmed = false
  for number, place in ipairs(board.places) do
    local ids = not player.entries[number] and trims.place(board, place)
    if number == 1 then trimmed = ids end
  end
  return trimmed
end

-- Bring a board and its windows down to their size limit, as far as one call may go.
--
-- KEYS[1] the board's base key, KEYS[2] its entries, KEYS[3...] its windows' entries
-- ARGV[1] rules, see rules.lua
-- ARGV[2] source
-- ARGV[3] first call of several (1) or a later one (0)
-- Returns {finished (0/1), id trimmed from the board itself, ...}, the worst first
local function trim_entries(keys, args)
  local board, source, is_first = boards.of(keys, args[1]), args[2], args[3] == '1'
  events.check(board)
  local answer, finished = {1}, true
  for number, place in ipairs(board.places) do
    local ids = trims.place(board, place) or {}
    finished = finished and #ids < trims.MOST
    if number == 1 then
      for at, id in ipairs(ids) do answer[at + 1] = id end
    end
  end
  if is_first then events.announce(board, 'limit', '', source, {limit = board.rules.limit or 0}) end
  answer[1] = finished and 1 or 0
  return answer
end

register('trim_entries', trim_entries)
