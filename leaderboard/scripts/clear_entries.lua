-- Empty a board and its windows at once, and delete the details of those who stood there.
--
-- The first call renames each sorted set to <entries>:dropped, so that readers see an empty board
-- from then on; it and the calls after it delete details in portions, so that a board of millions
-- keeps nobody waiting.
--
-- KEYS[1] the board's base key, KEYS[2] its entries, KEYS[3...] its windows' entries, past ones too
-- ARGV[1] rules and size limit, ARGV[2] further rules as JSON, or ''
-- ARGV[3] source
-- ARGV[4] first call of several (1) or a later one (0)
-- ARGV[5] how many details to delete in this call
-- Returns whether nothing is left to do (1) or another call is needed (0)
-- include rules
-- include ranks
-- include places
-- include announce
local portion = tonumber(ARGV[5])
if ARGV[4] == '1' then
  for number = 2, #KEYS do
    local entries = KEYS[number]
    -- Both kinds of entries, and what an interrupted clearing may have left.
    call('ZUNIONSTORE', entries .. ':dropped', 3, entries .. ':dropped', entries, entries .. ':aside')
    call('UNLINK', entries, entries .. ':at', entries .. ':aside', entries .. ':ranks')
    for _, field in ipairs(groups or {}) do
      call('UNLINK', entries .. ':by:' .. field, entries .. ':by:' .. field .. ':ranks')
    end
  end
  announce('reset', '', ARGV[3])
end
for number = 2, #KEYS do
  local dropped = KEYS[number] .. ':dropped'
  local members = call('ZRANGE', dropped, 0, portion - 1)
  for _, member in ipairs(members) do release_details(string.sub(member, prefix_length + 1)) end
  if #members > 0 then call('ZREMRANGEBYRANK', dropped, 0, #members - 1) end
  portion = portion - #members
  if portion <= 0 and call('EXISTS', dropped) == 1 then return 0 end
end
return 1
