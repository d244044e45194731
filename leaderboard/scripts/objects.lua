-- Entries as objects, for answers that are passed on as they are; needs `rules`. What `columns` is
-- for programs that read every value.
--
-- Each row: rank, player, score as text, details and, if the board has one, subscore as text or null.
local rows, row_count = {}, 0

local function put_row(member, score, rank)
  local id = stamped and string.sub(member, prefix_length + 1) or member
  local flat, details = call('HGETALL', KEYS[1] .. ':user:' .. id), {}
  for at = 1, #flat, 2 do details[flat[at]] = flat[at + 1] end
  row_count = row_count + 1
  rows[row_count] = {rank = rank, player = id, score = score, details = details,
    subscore = with_sub and (sub_text(prefix_sub(member)) or cjson.null) or nil}
end

-- All since the last time; null for none, which as a table would be an object in JSON.
local function take_rows()
  local taken = row_count > 0 and rows or cjson.null
  rows, row_count = {}, 0
  return taken
end
