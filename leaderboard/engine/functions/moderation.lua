-- moderation: what is done to a player wherever the player has entries, past windows included.

-- The player's entry in each place, or false, and whether there is any.
local function entries_of(board, id, hidden)
  local values, found, any = groups.values(board, id), {}, false
  for number, place in ipairs(board.places) do
    local stored = entries.find(board, place, id, hidden)
    found[number] = stored and entries.of(board.rules, id, stored, values)
    any = any or found[number]
  end
  return found, any
end

-- Remove a player from a board, its windows and from among the hidden, details included.
--
-- KEYS[1] the board's base key, KEYS[2] its entries, KEYS[3...] its windows' entries, past ones too
-- ARGV[1] rules, see rules.lua
-- ARGV[2] id
-- ARGV[3] source
-- Returns {'season', number}: another season runs, nothing was written
--         else whether the player was on the board itself (1) or not (0)
local function remove_player(keys, args)
  local board, id, source = boards.of(keys, args[1]), args[2], args[3]
  local moved = seasons.moved(board)
  if moved then return moved end
  events.check(board)
  local rules = board.rules
  local hidden = call('SISMEMBER', board.hidden, id) == 1
  local found, any = entries_of(board, id, hidden)
  local previous_rank = found[1] and not hidden and ranks.of(rules, board.main, found[1])
  for number, place in ipairs(board.places) do
    local entry = found[number]
    if entry then
      if rules.indexed and not hidden then indexes.remove(direct, board, place, entry) end
      call('ZREM', hidden and place.aside or place.entries, entry.member)
      if rules.stamped then call('HDEL', place.stamps, id) end
    end
  end
  call('SREM', board.hidden, id)
  call('DEL', board.user .. id)
  if hidden or any then
    events.announce(board, 'remove', id, source, {previous_rank = previous_rank})
  end
  return found[1] and 1 or 0
end

register('remove_player', remove_player)

local function hide_entry(board, place, entry)
  if board.rules.indexed then indexes.remove(direct, board, place, entry) end
  call('ZREM', place.entries, entry.member)
  direct:add(place.aside, place, entry.text, entry.member)
end

-- Returns the ids that had to go for it, or false.
local function show_entry(board, place, entry)
  call('ZREM', place.aside, entry.member)
  direct:add(place.entries, place, entry.text, entry.member)
  if board.rules.indexed then indexes.add(direct, board, place, entry) end
  return trims.place(board, place)
end

-- Hide a player, who keeps the score but disappears from every read, or show the player again. Safe to
-- repeat: whatever is on the wrong side moves.
--
-- KEYS[1] the board's base key, KEYS[2] its entries, KEYS[3...] its windows' entries, past ones too
-- ARGV[1] rules, see rules.lua
-- ARGV[2] id
-- ARGV[3] source
-- ARGV[4] hide or unhide
-- Returns {'season', number}: another season runs, nothing was written
--         else whether that changed anything (1) or not (0)
local function hide_player(keys, args)
  local board, id, source, what = boards.of(keys, args[1]), args[2], args[3], args[4]
  local moved = seasons.moved(board)
  if moved then return moved end
  events.check(board)
  local hide, outcome = what == 'hide', {}
  local changed = call(hide and 'SADD' or 'SREM', board.hidden, id)
  local found = entries_of(board, id, not hide)
  for number, place in ipairs(board.places) do
    local entry = found[number]
    if entry and call('ZSCORE', hide and place.entries or place.aside, entry.member) then
      changed = 1
      if hide then
        if number == 1 then outcome.previous_rank = ranks.of(board.rules, place, entry) end
        hide_entry(board, place, entry)
      else
        local trimmed = show_entry(board, place, entry)
        if number == 1 then
          outcome.trimmed = trimmed
          outcome.rank = call('ZSCORE', place.entries, entry.member)
            and ranks.of(board.rules, place, entry)
        end
      end
    end
  end
  if changed == 1 then events.announce(board, what, id, source, outcome) end
  return changed
end

register('hide_player', hide_player)

-- What is given differs from what is stored: the names to remove, and whether anything changes.
local function compare(stored, given, remove)
  local gone, changed = {}, false
  for name, value in pairs(given) do changed = changed or stored[name] ~= value end
  for name in pairs(stored) do
    if not given[name] and (remove == '*' or remove == name) then gone[#gone + 1] = name end
  end
  return gone, changed or #gone > 0
end

local function regroup(board, found, values)
  for number, place in ipairs(board.places) do
    local entry = found[number]
    if entry then
      indexes.remove(direct, board, place, entry)
      indexes.add(direct, board, place, entries.of(board.rules, entry.id, entry.stored, values))
    end
  end
end

-- Change a player's details wherever the player has entries or details: on the board and in its
-- windows, past ones too, with or without an open season, hidden or not.
--
-- KEYS[1] the board's base key, KEYS[2] its entries, KEYS[3...] its windows' entries, past ones too
-- ARGV[1] rules, see rules.lua
-- ARGV[2] id
-- ARGV[3] source
-- ARGV[4] the name of a detail to remove, * for all that are not given
-- ARGV[5...] names and values
-- Returns {'season', number}: another season runs, nothing was written
--         else whether the player has entries or details here (1) or not (0)
local function replace_details(keys, args)
  local board, id, source, remove = boards.of(keys, args[1]), args[2], args[3], args[4]
  local moved = seasons.moved(board)
  if moved then return moved end
  events.check(board)
  local user = board.user .. id
  local stored = details.by_name(call('HGETALL', user))
  local hidden = call('SISMEMBER', board.hidden, id) == 1
  local found, any = entries_of(board, id, hidden)
  if not next(stored) and not any then return 0 end
  local given = details.by_name({unpack(args, 5)})
  local gone, changed = compare(stored, given, remove)
  if not changed then return 1 end
  if next(given) then call('HSET', user, unpack(args, 5)) end
  if #gone > 0 then call('HDEL', user, unpack(gone)) end
  if not next(stored) then trims.release_details(board, id) end -- a new key gets its TTL
  if board.rules.groups and not hidden then regroup(board, found, groups.values(board, id)) end
  events.announce(board, 'details', id, source, {details = given})
  return 1
end

register('replace_details', replace_details)
