-- loads: entries that have their times already, without events, limits or answers: for rebuilding, and
-- for filling a board with many players.

-- Put entries on a board, where their players may have others.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] rules, see rules.lua; the limit is not applied
-- ARGV[2...] rows of six values and their details: id, score, subscore or '', microseconds, counter,
--         number of details, and each detail's name and value
-- Returns the number of rows
local function load_entries(keys, args)
  local board = boards.of(keys, args[1])
  local rules, place = board.rules, board.main
  local at, count = 2, 0
  while at <= #args do
    local id, last = args[at], at + 5 + 2 * args[at + 5]
    local hidden = call('SISMEMBER', board.hidden, id) == 1
    local stored, values = entries.find(board, place, id, hidden), groups.values(board, id)
    local old = stored and entries.of(rules, id, stored, values)
    if old and rules.indexed and not hidden then indexes.remove(direct, board, place, old) end
    if last > at + 5 then
      call('HSET', board.user .. id, unpack(args, at + 6, last))
      values = groups.values(board, id)
    end
    local time = stamps.time_bytes(rules, tonumber(args[at + 3]), tonumber(args[at + 4]))
    local subscore = tonumber(args[at + 2]) or rules.missing_subscore
    local entry = entries.new(rules, id, tonumber(args[at + 1]), subscore, time, values)
    direct:put(board, place, hidden, old, entry)
    if rules.indexed and not hidden then indexes.add(direct, board, place, entry) end
    at, count = last + 1, count + 1
  end
  return count
end

register('load_entries', load_entries)

local function append(list, first, second)
  local size = #list
  list[size + 1], list[size + 2] = first, second
end

-- The values of the groups as a row gives them; nil when it does not give them all.
local function given_values(fields, given)
  local by_name, values = details.by_name(given), {}
  for number, field in ipairs(fields) do
    if not by_name[field] then return nil end
    values[number] = by_name[field]
  end
  return values
end

-- A writer that gathers what goes to each key, by key; entries are only ever added.
local function gathering()
  local lists = {}
  return lists, {
    add = function(_, key, _, score, member)
      lists[key] = lists[key] or {}
      append(lists[key], score, member)
    end,
  }
end

-- Fill fresh entries. Nobody may be there yet, so nothing is looked up, and each key is written once
-- for the whole portion.
--
-- KEYS[1] the board's base key, KEYS[2] the fresh entries
-- ARGV[1] rules, see rules.lua; the limit is not applied
-- ARGV[2] rows in MessagePack: id, score, subscore or nil, microseconds, counter, and a list of
--         details' names and values in turn
-- Returns the number of rows
local function fill_entries(keys, args)
  local board = boards.of(keys, args[1])
  local rules, place, filled = board.rules, board.main, cmsgpack.unpack(args[2])
  local any_hidden = call('EXISTS', board.hidden) == 1
  local sets, writer = gathering()
  local stamped = {}
  for _, row in ipairs(filled) do
    local id, score, subscore, microseconds, counter, given = unpack(row, 1, 6)
    local values = rules.groups and given_values(rules.groups, given)
    if #given > 0 then call('HSET', board.user .. id, unpack(given)) end
    values = values or groups.values(board, id)
    local time = stamps.time_bytes(rules, microseconds, counter)
    local entry = entries.new(rules, id, score, subscore or rules.missing_subscore, time, values)
    if rules.stamped then append(stamped, id, entry.stored) end
    if any_hidden and call('SISMEMBER', board.hidden, id) == 1 then
      writer:add(place.aside, place, entry.text, entry.member)
    else
      writer:add(place.entries, place, entry.text, entry.member)
      if rules.indexed then indexes.add(writer, board, place, entry) end
    end
  end
  for key, list in pairs(sets) do
    call('ZADD', key, unpack(list))
    entries.keep_until(key, place)
  end
  if #stamped > 0 then
    call('HSET', place.stamps, unpack(stamped))
    entries.keep_until(place.stamps, place)
  end
  return #filled
end

register('fill_entries', fill_entries)
