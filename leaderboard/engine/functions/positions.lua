-- positions: places in the order of a board that stay where they are while scores change. As text: a
-- score, the bytes before the id as hex, and the id where ties go by id. The entry itself may have
-- moved or gone.

-- Returns the score, and the member or as much of it as orders the board.
function positions.read(text)
  local score, hex, id = text:match('^(%S+) (%x*) (.*)$')
  local prefix = hex:gsub('%x%x', function(pair) return string.char(tonumber(pair, 16)) end)
  return score, prefix .. id
end

-- The bytes before the id of a member, as hex.
function positions.prefix(rules, member)
  local prefix = member:sub(1, rules.prefix_length)
  return (prefix:gsub('.', function(byte) return string.format('%02x', byte:byte()) end))
end

-- Whether a member comes before another in the order of equal scores, or is the same. By bytes, as
-- Redis compares: Lua's `<` asks the server's locale.
local function comes_first(rules, member, other)
  local length = rules.timed and rules.prefix_length or math.max(#member, #other)
  for at = 1, length do
    local one, two = member:byte(at) or -1, other:byte(at) or -1
    if one ~= two then return (one > two) == rules.desc end
  end
  return true
end

-- How many entries are up to a position. Redis counts by score alone, so the place among equal scores
-- is searched by halves.
function positions.entries_until(rules, place, position)
  local score, other = positions.read(position)
  local first = ranks.better(rules, place, score)
  local last = first + call('ZCOUNT', place.entries, score, score)
  while first < last do
    local middle = math.floor((first + last) / 2)
    if comes_first(rules, call(rules.range_command, place.entries, middle, middle)[1], other) then
      first = middle + 1
    else
      last = middle
    end
  end
  return first
end
