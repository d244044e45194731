-- clearings: the end of entries, in portions, so that a board of millions keeps nobody waiting.

local function beside(place)
  local names = {place.ranks}
  for _, key in ipairs(place.groups) do
    names[#names + 1] = key
    names[#names + 1] = key .. ':ranks'
  end
  return names
end

local function ids_of(rules, members)
  local ids = {}
  for at, member in ipairs(members) do ids[at] = member:sub(rules.prefix_length + 1) end
  return ids
end

-- Empty a board and its windows at once, and delete the details of their players.
--
-- The first call renames each sorted set to <entries>:dropped, so that readers see an empty board from
-- then on; it and the calls after it delete details.
--
-- KEYS[1] the board's base key, KEYS[2] its entries, KEYS[3...] its windows' entries, past ones too
-- ARGV[1] rules, see rules.lua
-- ARGV[2] source
-- ARGV[3] first call of several (1) or a later one (0)
-- ARGV[4] how many details to delete in this call
-- Returns whether nothing is left to do (1) or another call is needed (0)
local function clear_entries(keys, args)
  local board, source = boards.of(keys, args[1]), args[2]
  local is_first, portion = args[3] == '1', tonumber(args[4])
  events.check(board)
  if is_first then
    for _, place in ipairs(board.places) do
      local dropped = place.entries .. ':dropped'
      -- Both kinds of entries, and what an interrupted clearing may have left.
      call('ZUNIONSTORE', dropped, 3, dropped, place.entries, place.aside)
      call('UNLINK', place.entries, place.stamps, place.aside, unpack(beside(place)))
    end
    events.announce(board, 'reset', '', source, {})
  end
  for _, place in ipairs(board.places) do
    local dropped = place.entries .. ':dropped'
    local members = call('ZRANGE', dropped, 0, portion - 1)
    for _, id in ipairs(ids_of(board.rules, members)) do trims.release_details(board, id) end
    if #members > 0 then call('ZREMRANGEBYRANK', dropped, 0, #members - 1) end
    portion = portion - #members
    if portion <= 0 and call('EXISTS', dropped) == 1 then return 0 end
  end
  return 1
end

register('clear_entries', clear_entries)

-- The places that exist and are kept, each with the moment when its players' details may go.
local function kept_places(board, waiting)
  local kept = {}
  local function keep(place, moment)
    if call('EXISTS', place.entries, place.aside) > 0 then
      kept[#kept + 1] = {place = place, moment = moment}
    end
  end
  for number, place in ipairs(board.places) do
    keep(place, number > 1 and place.expires and tonumber(place.expires) or math.huge)
  end
  for _, number in ipairs(waiting) do
    keep(boards.place(board.base .. ':s' .. number, board.rules.groups), math.huge)
  end
  return kept
end

-- For each of the ids, whether it is in a place: one call for all of them.
local function are_in(rules, place, ids)
  if rules.stamped then return call('HMGET', place.stamps, unpack(ids)) end
  local found = call('ZMSCORE', place.entries, unpack(ids))
  local hidden = call('ZMSCORE', place.aside, unpack(ids))
  for at = 1, #ids do found[at] = found[at] or hidden[at] end
  return found
end

-- Let the details of these players go when the last place that has them may go.
local function release(board, kept, ids)
  local moments_of, gone = {}, {}
  for _, one in ipairs(kept) do
    local found = are_in(board.rules, one.place, ids)
    for at = 1, #ids do
      if found[at] then moments_of[at] = math.max(moments_of[at] or 0, one.moment) end
    end
  end
  for at, id in ipairs(ids) do
    local user, moment = board.user .. id, moments_of[at]
    if not moment then
      gone[#gone + 1] = user
    elseif moment == math.huge then
      call('PERSIST', user)
    else
      call('PEXPIREAT', user, moments.text(moment))
    end
  end
  if #gone > 0 then call('UNLINK', unpack(gone)) end
end

-- Drop a season that is archived, in portions: its entries, and the details of players who are in no
-- season and no window that is kept.
--
-- KEYS[1] the board's base key, KEYS[2] the running season's entries, KEYS[3...] its windows' entries,
--         past ones too
-- ARGV[1] rules, see rules.lua
-- ARGV[2] number of the season to drop
-- ARGV[3] how many players in this call
-- ARGV[4...] numbers of other seasons that wait for their archive
-- Returns how many players are left; 0 when everything is gone
local function drop_season(keys, args)
  local board, number, portion = boards.of(keys, args[1]), args[2], tonumber(args[3])
  local rules = board.rules
  local ended = boards.place(board.base .. ':s' .. number, rules.groups)
  local kept = kept_places(board, {unpack(args, 4)})
  for _, key in ipairs({ended.entries, ended.aside}) do
    local members = portion > 0 and call('ZRANGE', key, 0, portion - 1) or {}
    if #members > 0 then
      local ids = ids_of(rules, members)
      release(board, kept, ids)
      call('ZREMRANGEBYRANK', key, 0, #members - 1)
      if rules.stamped then call('HDEL', ended.stamps, unpack(ids)) end
      -- What is beside the entries shrinks with them. Left to one UNLINK in the end, a million small
      -- pieces would be freed by another thread of the server, and where that shares the memory
      -- allocator's lock with the main one (glibc's), every client waits a tenth of a second.
      for _, name in ipairs(beside(ended)) do call('ZREMRANGEBYRANK', name, 0, #members - 1) end
    end
    portion = portion - #members
  end
  local left = call('ZCARD', ended.entries) + call('ZCARD', ended.aside)
  if left == 0 then call('UNLINK', ended.stamps, unpack(beside(ended))) end
  return left
end

register('drop_season', drop_season)
