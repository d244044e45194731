-- Read the entries of given players.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] rules
-- ARGV[2] n no details, d details, b no details but the numbers of better entries
-- ARGV[3...] ids
-- Returns JSON: [size, places by ordinal rank, numbers of entries with a better score, columns]
--         for those found, with the columns as columns.lua describes them
-- include rules
-- include ranks
-- include columns
local entries = KEYS[2]
local places, better = {}, {}
for at = 3, #ARGV do
  local id = ARGV[at]
  local member, score = id, nil
  if stamped then
    local stored = call('HGET', entries .. ':at', id) or ''
    member, score = string.sub(stored, 1, prefix_length) .. id, string.sub(stored, prefix_length + 1)
  end
  local place = call(RANK, entries, member)
  if place then
    score = score or call('ZSCORE', entries, member)
    local found = #places + 1
    places[found] = place + 1
    if ARGV[2] == 'b' then
      better[found] = desc and call('ZCOUNT', entries, '(' .. score, '+inf')
        or call('ZCOUNT', entries, '-inf', '(' .. score)
    end
    put_row(member, score, ranking ~= 111 and rank_of(entries, member, score))
  end
end
return cjson.encode({call('ZCARD', entries), places, better, columns})
