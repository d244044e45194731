-- Drop a season that is archived, in portions: its entries, and the details of players who stand
-- in no season and no window that is kept.
--
-- KEYS[1] the board's base key, KEYS[2] the running season's entries, KEYS[3...] its windows'
--         entries, past ones too
-- ARGV[1] rules and size limit, ARGV[2] further rules as JSON, or ''
-- ARGV[3] number of the season to drop
-- ARGV[4] how many players in this call
-- ARGV[5...] numbers of other seasons that wait for their archive
-- Returns how many players are left; 0 when everything is gone
-- include rules
-- include ranks
-- include places
local frozen = base .. ':s' .. ARGV[3]
local portion = tonumber(ARGV[4])

local function waits_elsewhere(id)
  for at = 5, #ARGV do
    local entries = base .. ':s' .. ARGV[at]
    if stamped then
      if call('HEXISTS', entries .. ':at', id) == 1 then return true end
    elseif call('ZSCORE', entries, id) or call('ZSCORE', entries .. ':aside', id) then
      return true
    end
  end
  return false
end

for _, entries in ipairs({frozen, frozen .. ':aside'}) do
  local members = portion > 0 and call('ZRANGE', entries, 0, portion - 1) or {}
  for _, member in ipairs(members) do
    local id = string.sub(member, prefix_length + 1)
    if not waits_elsewhere(id) then release_details(id) end
  end
  if #members > 0 then call('ZREMRANGEBYRANK', entries, 0, #members - 1) end
  portion = portion - #members
end
local left = call('ZCARD', frozen) + call('ZCARD', frozen .. ':aside')
if left == 0 then
  call('UNLINK', frozen .. ':at', frozen .. ':ranks')
  for _, field in ipairs(groups or {}) do
    call('UNLINK', frozen .. ':by:' .. field, frozen .. ':by:' .. field .. ':ranks')
  end
end
return left
