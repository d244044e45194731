-- unions: several sorted sets of boards as one, stored under a key with a TTL, in portions.
--
-- Sources with plain ids as members go into one ZUNIONSTORE. Others are copied first, so that the union
-- is of one moment, and merged by id in as many calls as needed.
local ABANDONED = 3600 -- seconds until what a builder has left is gone

local function request_of(keys, args)
  return {
    union = keys[1], sources = {unpack(keys, 2)}, lengths = {unpack(args, 9)},
    desc = args[1] == 'desc', how = args[2], ttl = args[3], portion = tonumber(args[4]),
    dense = args[5] == '1', building = keys[1] .. ':building:' .. args[6],
    precision = args[2] == 'sum' and args[8] ~= '' and '%.' .. args[8] .. 'f',
  }
end

local function copy_of(request, source) return request.building .. ':' .. source end

local function is_plain(request)
  if request.how == 'last' or request.precision then return false end
  for _, length in ipairs(request.lengths) do
    if length ~= '0' then return false end
  end
  return true
end

local function unite(request)
  local words = {unpack(request.sources)}
  words[#words + 1] = 'AGGREGATE'
  words[#words + 1] = request.how == 'sum' and 'SUM' or (request.desc and 'MAX' or 'MIN')
  call('ZUNIONSTORE', request.building, #request.sources, unpack(words))
end

local function copy_all(request)
  for source, key in ipairs(request.sources) do
    call('COPY', key, copy_of(request, source))
    call('EXPIRE', copy_of(request, source), ABANDONED)
  end
end

local function merge(request, source, members)
  local building, length = request.building, request.lengths[source]
  for at = 1, #members, 2 do
    local id, score = members[at]:sub(length + 1), members[at + 1]
    if request.how == 'sum' then
      local sum = call('ZINCRBY', building, score, id)
      if request.precision then
        call('ZADD', building, string.format(request.precision, tonumber(sum)), id)
      end
    elseif request.how == 'best' then
      call('ZADD', building, request.desc and 'GT' or 'LT', score, id)
    else
      call('ZADD', building, score, id)
    end
  end
end

-- Merge a portion from where the last call ended. Returns where to go on, or nil.
local function merge_portion(request, source, offset)
  local portion = request.portion
  while portion > 0 and source <= #request.sources do
    local copy = copy_of(request, source)
    local members = call('ZRANGE', copy, offset, offset + portion - 1, 'WITHSCORES')
    merge(request, source, members)
    offset, portion = offset + #members / 2, portion - #members / 2
    if portion > 0 then
      call('DEL', copy)
      source, offset = source + 1, 0
    end
  end
  call('EXPIRE', request.building, ABANDONED)
  return source <= #request.sources and 'merge ' .. source .. ' ' .. offset or nil
end

-- Put each distinct score into <union>:ranks, a portion after the score `after`. Returns where to go on,
-- or nil.
local function rank_portion(request, after)
  local key = request.building .. ':ranks'
  for _ = 1, request.portion do
    local found = call('ZRANGEBYSCORE', request.building, '(' .. after, '+inf', 'WITHSCORES',
      'LIMIT', 0, 1)
    if #found == 0 then return nil end
    after = found[2]
    call('ZADD', key, after, numbers.text(tonumber(after)))
  end
  call('EXPIRE', key, ABANDONED)
  return 'rank 0 ' .. after
end

local function finish(request)
  call('DEL', request.union, request.union .. ':ranks')
  for _, suffix in ipairs({'', ':ranks'}) do
    if call('EXISTS', request.building .. suffix) == 1 then
      call('RENAME', request.building .. suffix, request.union .. suffix)
      call('EXPIRE', request.union .. suffix, request.ttl)
    end
  end
end

-- Store the union of several boards, as far as one call may go.
--
-- KEYS[1] the union's key, KEYS[2...] the sources' entries
-- ARGV[1] order of the union: desc or asc
-- ARGV[2] how: sum, best or last
-- ARGV[3] seconds to keep it
-- ARGV[4] how many entries to merge in this call
-- ARGV[5] dense ranks wanted (1) or not (0)
-- ARGV[6] a word that no other builder of this union has
-- ARGV[7] where to go on: '' at first, else what the last call returned
-- ARGV[8] decimals to which sums are rounded, '' for none
-- ARGV[9...] for each source the length of the bytes before the id
-- Returns '' when it is ready, else where to go on
local function store_union(keys, args)
  local request = request_of(keys, args)
  local phase, source, offset = args[7]:match('^(%a+) (%d+) (.+)$')
  if not phase then
    if is_plain(request) then
      unite(request)
    else
      copy_all(request)
      phase, source, offset = 'merge', 1, 0
    end
  end
  if phase == 'merge' then
    local state = merge_portion(request, tonumber(source), tonumber(offset))
    if state then return state end
  end
  local state = request.dense and rank_portion(request, phase == 'rank' and offset or '-inf')
  if state then return state end
  finish(request)
  return ''
end

register('store_union', store_union)
