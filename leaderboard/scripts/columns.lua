-- Entries in the form in which they leave: flat columns, because one list of a thousand values is
-- read faster than a hundred lists; needs `rules`.
--
-- Each row: id, score, names and values of details; then the rank unless ranks are ordinal; the
-- subscore if the board has one, false for a missing one; microseconds and counter if asked for and kept. Numbers that
-- need all their digits are text.
local wants_details = ARGV[2] == 'd' or ARGV[2] == 'a'
local wants_stamp = timed and (ARGV[2] == 'a' or ARGV[2] == 's')
local columns, width = {}, 0

local function put_row(member, score, rank)
  local id = stamped and string.sub(member, prefix_length + 1) or member
  columns[width + 1], columns[width + 2] = id, score
  columns[width + 3] = wants_details and call('HGETALL', KEYS[1] .. ':user:' .. id) or false
  width = width + 3
  if ranking ~= 111 then
    width = width + 1
    columns[width] = rank
  end
  if with_sub then
    width = width + 1
    columns[width] = sub_text(prefix_sub(member))
  end
  if wants_stamp then
    local microseconds, counter = prefix_stamp(member)
    columns[width + 1] = string.format('%.0f', microseconds)
    columns[width + 2] = string.format('%.0f', counter)
    width = width + 2
  end
end

local function take_rows()
  return columns
end
