-- Put entries with given times and details on a board, without events, limits or answers: for
-- rebuilding and for filling a board with a great many players.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] rules and size limit (not applied), ARGV[2] further rules as JSON, or ''
-- ARGV[3...] rows of six values and their details: id, score, subscore or '', microseconds, counter,
--         number of details, and each detail's name and value
-- Returns the number of rows
-- include rules
-- include ranks
-- include places
local at, rows = 3, 0
local entries = KEYS[2]
while at <= #ARGV do
  local id, score, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 5])
  local hidden = call('SISMEMBER', base .. ':hidden', id) == 1
  local target = hidden and entries .. ':aside' or entries
  local old_score, old_prefix = find(2, id, hidden)
  local values = group_values(id)
  if old_score then
    if indexed and not hidden then unindex(2, id, old_prefix, old_score, values) end
    if stamped then call('ZREM', target, old_prefix .. id) end
  end
  local prefix = (with_sub and sub_bytes(tonumber(ARGV[at + 2]) or NO_SUB) or '')
    .. (timed and stamp_bytes(tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])) or '')
  if count > 0 then
    call('HSET', base .. ':user:' .. id, unpack(ARGV, at + 6, at + 5 + 2 * count))
    values = group_values(id)
  end
  add(target, 2, score, prefix .. id)
  if stamped then call('HSET', entries .. ':at', id, prefix .. score) end
  if indexed and not hidden then index(2, id, prefix, score, values) end
  rows, at = rows + 1, at + 6 + 2 * count
end
if stamped then keep_until(entries .. ':at', 2) end
return rows
