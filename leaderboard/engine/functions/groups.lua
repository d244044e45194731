-- groups: players by the details that the rules name.

-- The player's value for each of the rules' groups; nil on a board without groups.
function groups.values(board, id)
  local fields = board.rules.groups
  return fields and call('HMGET', board.user .. id, unpack(fields))
end

function groups.differ(values, others)
  for number = 1, #values do
    if values[number] ~= others[number] then return true end
  end
  return false
end

-- The member of a group: its value, NUL, the score as bytes, prefix and id. Also its beginning, which
-- players of the same rank share.
function groups.member(rules, value, entry)
  local head = value .. '\0' .. numbers.sortable(entry.score)
  return head .. entry.prefix .. entry.id, head .. entry.prefix:sub(1, rules.subscore_length)
end

-- How many members of a group are up to a position.
local function members_until(rules, key, value, position)
  local score, member = positions.read(position)
  local place = value .. '\0' .. numbers.sortable(tonumber(score)) .. member
  if rules.desc then return call('ZLEXCOUNT', key, '[' .. place, '(' .. value .. '\1') end
  -- Where ties go by time the place has no id, and no id begins with 0xff.
  local last = rules.timed and '(' .. place .. '\255' or '[' .. place
  return call('ZLEXCOUNT', key, '[' .. value .. '\0', last)
end

-- Read a page of one group's members, ranked among themselves.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] rules, see rules.lua
-- ARGV[2] what else than score and rank, see columns.lua
-- ARGV[3] field, ARGV[4] value
-- ARGV[5] members to skip, or a position to skip to, ARGV[6] how many at most
-- Returns JSON: [members of the group, ranks on the whole board, columns, members skipped, while others
--         follow the bytes before the id of the last row as hex]
local function read_group(keys, args)
  local board, value = boards.of(keys, args[1]), args[4]
  local skip, count = tonumber(args[5]), tonumber(args[6])
  local rules, place = board.rules, board.main
  local key, dense = place.entries .. ':by:' .. args[3], rules.ranking == 'dense'
  -- All members of the group begin with the value and NUL; byte order is rank order.
  local low, high = '[' .. value .. '\0', '(' .. value .. '\1'
  local size = call('ZLEXCOUNT', key, low, high)
  skip = skip or members_until(rules, key, value, args[5])
  count = math.min(count, size - skip)
  if count <= 0 then return cjson.encode({size, {}, {}, 0, false}) end

  -- How many of the group come before those that begin with `shared`.
  local function before(set, shared)
    if rules.desc then return call('ZLEXCOUNT', set, '(' .. shared .. '\255', high) end
    return call('ZLEXCOUNT', set, low, '(' .. shared)
  end

  local outside = rules.desc and call('ZLEXCOUNT', key, '[' .. value .. '\1', '+')
    or call('ZLEXCOUNT', key, '-', '(' .. value .. '\0')
  local found = call(rules.range_command, key, outside + skip, outside + skip + count - 1)
  local board_ranks, list, rank, last = {}, columns.new(board, args[2]), nil, nil
  for at, member in ipairs(found) do
    local shared = member:sub(1, #value + 9 + rules.subscore_length)
    if rules.ranking ~= 'ordinal' and shared ~= last then
      if at == 1 then
        rank = 1 + before(dense and key .. ':ranks' or key, shared)
      else
        rank = dense and rank + 1 or skip + at
      end
    end
    last = shared
    local score = numbers.text(numbers.from_sortable(member, #value + 2))
    local own = member:sub(#value + 10)
    board_ranks[at] = ranks.of(rules, place, entries.of_member(rules, own, score))
    columns.put(list, own, score, rank)
  end
  local follows = skip + #found < size
    and positions.prefix(rules, found[#found]:sub(#value + 10))
  return cjson.encode({size, board_ranks, list.values, skip, follows})
end

register_read('read_group', read_group)

-- List the values that the players on a board have in one field of its groups.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] field, ARGV[2] how many values at most
-- Returns the values, in the order of their bytes. Costs O(log N) for each.
local function read_group_values(keys, args)
  local key, values, from = keys[2] .. ':by:' .. args[1], {}, '-'
  for number = 1, tonumber(args[2]) do
    local member = call('ZRANGEBYLEX', key, from, '+', 'LIMIT', 0, 1)[1]
    if not member then break end
    -- A member begins with the value and NUL; the next value is the first behind all of these.
    values[number] = member:sub(1, member:find('\0', 1, true) - 1)
    from = '[' .. values[number] .. '\1'
  end
  return values
end

register_read('read_group_values', read_group_values)
