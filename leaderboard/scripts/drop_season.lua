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
local FOREVER = math.huge

-- The sorted sets that exist, each with the moment when its players' details may go.
local kept = {}
local function keep(entries, moment)
  if call('EXISTS', entries, entries .. ':aside') > 0 then kept[#kept + 1] = {entries, moment} end
end
for number = 2, #KEYS do
  keep(KEYS[number], number > 2 and tonumber(expiry(number)) or FOREVER)
end
for at = 5, #ARGV do keep(base .. ':s' .. ARGV[at], FOREVER) end

-- For each of the ids, whether it stands in one sorted set: one call for all of them.
local function standing(entries, ids)
  if stamped then return call('HMGET', entries .. ':at', unpack(ids)) end
  local found = call('ZMSCORE', entries, unpack(ids))
  local hidden = call('ZMSCORE', entries .. ':aside', unpack(ids))
  for at = 1, #ids do found[at] = found[at] or hidden[at] end
  return found
end

local function release(ids)
  local moments, gone = {}, {}
  for _, one in ipairs(kept) do
    local found = standing(one[1], ids)
    for at = 1, #ids do
      if found[at] then moments[at] = math.max(moments[at] or 0, one[2]) end
    end
  end
  for at, id in ipairs(ids) do
    local user, moment = base .. ':user:' .. id, moments[at]
    if not moment then
      gone[#gone + 1] = user
    elseif moment == FOREVER then
      call('PERSIST', user)
    else
      call('PEXPIREAT', user, string.format('%.0f', moment))
    end
  end
  if #gone > 0 then call('UNLINK', unpack(gone)) end
end

-- What hangs on the entries shrinks with them. Left to one UNLINK in the end, a million small
-- pieces would be freed by another thread of the server, and where that shares the memory
-- allocator's lock with the main one (glibc's), every client waits a tenth of a second.
local beside = {frozen .. ':ranks'}
for _, field in ipairs(groups or {}) do
  beside[#beside + 1] = frozen .. ':by:' .. field
  beside[#beside + 1] = frozen .. ':by:' .. field .. ':ranks'
end

for _, entries in ipairs({frozen, frozen .. ':aside'}) do
  local members = portion > 0 and call('ZRANGE', entries, 0, portion - 1) or {}
  if #members > 0 then
    local ids = {}
    for at, member in ipairs(members) do ids[at] = string.sub(member, prefix_length + 1) end
    release(ids)
    call('ZREMRANGEBYRANK', entries, 0, #members - 1)
    if stamped then call('HDEL', frozen .. ':at', unpack(ids)) end
    for _, key in ipairs(beside) do call('ZREMRANGEBYRANK', key, 0, #members - 1) end
  end
  portion = portion - #members
end
local left = call('ZCARD', frozen) + call('ZCARD', frozen .. ':aside')
if left == 0 then call('UNLINK', frozen .. ':at', unpack(beside)) end
return left
