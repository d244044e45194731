-- Read a page of one group's members, ranked among themselves.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] rules
-- ARGV[2] n no details, d details
-- ARGV[3] field, ARGV[4] value
-- ARGV[5] members to skip, or a position to skip to, ARGV[6] how many at most
-- Returns JSON: [members of the group, ranks on the whole board, columns, members skipped, while
--         others follow the bytes before the id of the last row as hex], with the columns as
--         columns.lua describes them
-- include rules
-- include ranks
-- include columns
-- include positions
local entries, value = KEYS[2], ARGV[4]
local key = entries .. ':by:' .. ARGV[3]
local skip, count = tonumber(ARGV[5]), tonumber(ARGV[6])
-- All members of the group begin with the value and NUL; byte order is rank order.
local low, high = '[' .. value .. '\0', '(' .. value .. '\1'
local size = call('ZLEXCOUNT', key, low, high)
if not skip then
  local score, member = read_position(ARGV[5])
  local place = value .. '\0' .. sortable(tonumber(score)) .. member
  if desc then
    skip = call('ZLEXCOUNT', key, '[' .. place, high)
  else
    -- Where ties go by time the place has no id, and no id begins with 0xff.
    skip = call('ZLEXCOUNT', key, low, timed and '(' .. place .. '\255' or '[' .. place)
  end
end
count = math.min(count, size - skip)
if count <= 0 then return cjson.encode({size, {}, {}, 0, false}) end
local outside = desc and call('ZLEXCOUNT', key, '[' .. value .. '\1', '+')
  or call('ZLEXCOUNT', key, '-', '(' .. value .. '\0')
local found = call(RANGE, key, outside + skip, outside + skip + count - 1)

-- How many in a sorted set of the group stand before those that begin with `shared`.
local function before(set, shared)
  if desc then return call('ZLEXCOUNT', set, '(' .. shared .. '\255', high) end
  return call('ZLEXCOUNT', set, low, '(' .. shared)
end

local board_ranks, rank, last = {}, nil, nil
for at, member in ipairs(found) do
  local shared = string.sub(member, 1, #value + 9 + sub_length)
  if ranking ~= 111 and shared ~= last then
    if at == 1 then
      rank = 1 + before(ranking == 100 and key .. ':ranks' or key, shared)
    else
      rank = ranking == 100 and rank + 1 or skip + at
    end
  end
  last = shared
  local score = number_text(from_sortable(member, #value + 2))
  local entry = string.sub(member, #value + 10)
  board_ranks[at] = rank_of(entries, entry, score)
  put_row(entry, score, rank)
end
local follows = skip + #found < size and prefix_hex(string.sub(found[#found], #value + 10))
return cjson.encode({size, board_ranks, columns, skip, follows})
