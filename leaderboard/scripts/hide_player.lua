-- Hide a player, who keeps the score but disappears from every read, or show the player again. Safe
-- to repeat: whatever is on the wrong side moves.
--
-- KEYS[1] the board's base key, KEYS[2] its entries, KEYS[3...] its windows' entries, past ones too
-- ARGV[1] rules and size limit, ARGV[2] further rules as JSON, or ''
-- ARGV[3] id
-- ARGV[4] source
-- ARGV[5] hide or unhide
-- Returns {'season', number}: another season runs, nothing was written
--         else whether that changed anything (1) or not (0)
-- include rules
-- include ranks
-- include places
-- include running
-- include announce
local id, hide = ARGV[3], ARGV[5] == 'hide'
local changed = call(hide and 'SADD' or 'SREM', base .. ':hidden', id)
local values = group_values(id)
local rank, previous_rank, trimmed = false, false, false
for number = 2, #KEYS do
  local entries = KEYS[number]
  local score, prefix = find(number, id, not hide)
  local member = prefix .. id
  if score and call('ZSCORE', hide and entries or entries .. ':aside', member) then
    changed = 1
    if hide then
      if number == 2 then previous_rank = rank_of(entries, member, score) end
      if indexed then unindex(number, id, prefix, score, values) end
      call('ZREM', entries, member)
      add(entries .. ':aside', number, score, member)
    else
      call('ZREM', entries .. ':aside', member)
      add(entries, number, score, member)
      if indexed then index(number, id, prefix, score, values) end
      local ids = trim(number, MOST_TRIMMED)
      if number == 2 then trimmed = ids end
      if number == 2 and call('ZSCORE', entries, member) then
        rank = rank_of(entries, member, score)
      end
    end
  end
end
if changed == 1 then announce(ARGV[5], id, ARGV[4], rank, previous_rank, trimmed) end
return changed
