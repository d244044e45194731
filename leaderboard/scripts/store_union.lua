-- Store the union of several sorted sets of boards under a key with a TTL, in portions.
--
-- Sources whose members are plain ids go into one ZUNIONSTORE. Others are copied first, so that the
-- union is of one moment, and merged by id in as many calls as needed.
--
-- KEYS[1] the union's key, KEYS[2...] the sources' entries
-- ARGV[1] order of the union (d/a)
-- ARGV[2] how: sum, best or last
-- ARGV[3] seconds to keep it
-- ARGV[4] how many entries to merge in this call
-- ARGV[5] dense ranks wanted (1) or not (0)
-- ARGV[6] a word that no other builder of this union has
-- ARGV[7] where to go on: '' at first, else what the last call returned
-- ARGV[8] decimals to which sums are rounded, '' for none
-- ARGV[9...] for each source the length of the bytes before the id
-- Returns '' when it is ready, else where to go on
local call = redis.call
local union, how, ttl, portion = KEYS[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local desc, dense, state = ARGV[1] == 'd', ARGV[5] == '1', ARGV[7]
local precision = how == 'sum' and ARGV[8] ~= '' and '%.' .. ARGV[8] .. 'f'
local building = union .. ':building:' .. ARGV[6]

local function length(source) return tonumber(ARGV[7 + source]) end
local function copy(source) return building .. ':' .. source end

local function merge(source, members)
  for at = 1, #members, 2 do
    local id, score = string.sub(members[at], length(source) + 1), members[at + 1]
    if how == 'sum' then
      local sum = call('ZINCRBY', building, score, id)
      if precision then call('ZADD', building, string.format(precision, tonumber(sum)), id) end
    elseif how == 'best' then
      call('ZADD', building, desc and 'GT' or 'LT', score, id)
    else
      call('ZADD', building, score, id)
    end
  end
end

-- Each distinct score once, in <union>:ranks; `after` is the last one that is there.
local function index_ranks(after)
  for _ = 1, portion do
    local found = call('ZRANGEBYSCORE', building, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    if #found == 0 then return nil end
    after = found[2]
    local score = tonumber(after)
    local text = string.format('%.15g', score)
    if tonumber(text) ~= score then text = string.format('%.17g', score) end
    call('ZADD', building .. ':ranks', after, text)
  end
  return after
end

local function finish()
  call('DEL', union, union .. ':ranks')
  for _, suffix in ipairs({'', ':ranks'}) do
    if call('EXISTS', building .. suffix) == 1 then
      call('RENAME', building .. suffix, union .. suffix)
      call('EXPIRE', union .. suffix, ttl)
    end
  end
  return ''
end

local phase, number, offset = string.match(state, '^(%a+) (%d+) (.+)$')
if state == '' then
  local plain = how ~= 'last' and not precision
  for source = 2, #KEYS do plain = plain and length(source) == 0 end
  if plain then
    local sources = {unpack(KEYS, 2)}
    sources[#sources + 1] = 'AGGREGATE'
    sources[#sources + 1] = how == 'sum' and 'SUM' or (desc and 'MAX' or 'MIN')
    call('ZUNIONSTORE', building, #KEYS - 1, unpack(sources))
    phase, offset = 'rank', '-inf'
  else
    for source = 2, #KEYS do
      call('COPY', KEYS[source], copy(source))
      call('EXPIRE', copy(source), 3600) -- should nobody come back for it
    end
    phase, number, offset = 'merge', 2, 0
  end
end

if phase == 'merge' then
  number, offset = tonumber(number), tonumber(offset)
  while portion > 0 and number <= #KEYS do
    local members = call('ZRANGE', copy(number), offset, offset + portion - 1, 'WITHSCORES')
    merge(number, members)
    offset, portion = offset + #members / 2, portion - #members / 2
    if portion > 0 then
      call('DEL', copy(number))
      number, offset = number + 1, 0
    end
  end
  call('EXPIRE', building, 3600)
  if number <= #KEYS then return 'merge ' .. number .. ' ' .. offset end
  portion, offset = tonumber(ARGV[4]), '-inf'
end

local after = dense and index_ranks(offset) or nil
if after then
  call('EXPIRE', building .. ':ranks', 3600)
  return 'rank 0 ' .. after
end
return finish()
