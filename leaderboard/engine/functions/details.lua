-- details: a player's names and values, in a hash.
local MOST_DETAILS, MOST_BYTES = 32, 4096

-- Compare with args[first] and those after it. Returns whether the names are the same in the same
-- order, and whether the values are too.
local function compare(stored, row)
  local same = true
  for at = 1, #stored, 2 do
    local given = row.first + at - 1
    if stored[at] ~= row.args[given] then return false, false end
    same = same and stored[at + 1] == row.args[given + 1]
  end
  return true, same
end

-- Put the details of a row among those stored. Returns whether all of them were there already.
local function put_given(stored, row)
  local places, same = {}, true
  for at = 1, #stored, 2 do places[stored[at]] = at end
  for given = row.first, row.last, 2 do
    local name, value = row.args[given], row.args[given + 1]
    local at = places[name] or #stored + 1
    same = same and stored[at + 1] == value
    places[name], stored[at], stored[at + 1] = at, name, value
  end
  return same
end

-- The list without the names that a row removes.
local function without_gone(list, row)
  local kept, gone = {}, {}
  for at = row.last + 1, row.gone do gone[row.args[at]] = true end
  for at = 1, #list, 2 do
    if not gone[list[at]] then
      kept[#kept + 1] = list[at]
      kept[#kept + 1] = list[at + 1]
    end
  end
  return kept
end

local function too_much(list)
  local bytes = 0
  for at = 1, #list do bytes = bytes + #list[at] end
  return #list > 2 * MOST_DETAILS and 'too_many_details' or bytes > MOST_BYTES and 'details_too_large'
end

-- What becomes of a player's details by a row, without writing: the list of names and values, whether
-- the row gives all of them, so that the caller knows them, and whether the row changes none. Or nil
-- and a code.
function details.merged(board, row)
  local stored = call('HGETALL', board.user .. row.id)
  local count = row.last - row.first + 1
  if not row.gone then
    if #stored == count then
      local covered, same = compare(stored, row)
      if covered then return stored, true, same end
    end
    if count == 0 then return stored, false, true end
    if #stored == 0 then return stored, true, false end
  end
  local same = put_given(stored, row)
  local merged = row.gone and without_gone(stored, row) or stored
  local code = too_much(merged)
  if code then return nil, code end
  return merged, false, same and #merged == #stored
end

-- Names and values in turn as a table.
function details.by_name(list)
  local found = {}
  for at = 1, #list, 2 do found[list[at]] = list[at + 1] end
  return found
end

-- The details that a row gives, null for those that it removes.
function details.given(row)
  local given = details.by_name({unpack(row.args, row.first, row.last)})
  for at = row.last + 1, row.gone or 0 do given[row.args[at]] = cjson.null end
  return given
end

function details.write(board, row)
  local user = board.user .. row.id
  if row.last >= row.first then call('HSET', user, unpack(row.args, row.first, row.last)) end
  if row.gone then call('HDEL', user, unpack(row.args, row.last + 1, row.gone)) end
end
