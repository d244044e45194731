-- Remove a player from a board, its windows and from among the hidden, details included.
--
-- KEYS[1] the board's base key, KEYS[2] its entries, KEYS[3...] its windows' entries, past ones too
-- ARGV[1] rules and size limit, ARGV[2] further rules as JSON, or ''
-- ARGV[3] id
-- ARGV[4] source
-- Returns {'season', number}: another season runs, nothing was written
--         else whether the player was on the board itself (1) or not (0)
-- include rules
-- include ranks
-- include places
-- include running
-- include announce
local id = ARGV[3]
local values = group_values(id)
local out = call('SISMEMBER', base .. ':hidden', id) == 1
local was_on_board, known, previous_rank = 0, out, false
for number = 2, #KEYS do
  local entries = KEYS[number]
  local score, prefix = find(number, id, out)
  if score then
    known = true
    if number == 2 then was_on_board = 1 end
    if not out then
      if number == 2 then previous_rank = rank_of(entries, prefix .. id, score) end
      if indexed then unindex(number, id, prefix, score, values) end
    end
    call('ZREM', out and entries .. ':aside' or entries, prefix .. id)
  end
  if stamped then call('HDEL', entries .. ':at', id) end
end
call('SREM', base .. ':hidden', id)
call('DEL', base .. ':user:' .. id)
if known then announce('remove', id, ARGV[4], false, previous_rank) end
return was_on_board
