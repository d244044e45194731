-- How an entry is put into a sorted set and taken out, with all that hangs on it; needs `rules`
-- and `ranks`.
--
-- KEYS[1] the board's base key, KEYS[2] its entries, KEYS[3...] its windows' entries
-- ARGV[2] size limit, 0 for none
-- ARGV[3] further rules as JSON, or '' (see Rules in rules.py)
local base = KEYS[1]
local limit = tonumber(ARGV[2])
local extra = ARGV[3] ~= '' and cjson.decode(ARGV[3]) or {}
local groups, expires = extra.groups, extra.expires
local indexed = groups or ranking == 100
-- More than this in one call would keep other clients waiting.
local MOST_TRIMMED = 10000

local function has_group(value) return value and value ~= '' end

local function group_member(value, score, prefix, id)
  return value .. '\0' .. sortable(tonumber(score)) .. prefix .. id
end

local function keep_until(key, number)
  local moment = expires and expires[number]
  if moment and moment ~= '' then call('PEXPIREAT', key, moment) end
end

-- A key that has just come to life gets its TTL; asking on every write would cost more.
local function add(key, number, score, member)
  if call('ZADD', key, score, member) == 1 and expires and call('ZCARD', key) == 1 then
    keep_until(key, number)
  end
end

-- `values` are the player's details by which the board is grouped.
local function index(number, id, prefix, score, values)
  local entries = KEYS[number]
  if ranking == 100 then add(entries .. ':ranks', number, score, rank_key(tonumber(score), prefix)) end
  for place, field in ipairs(groups or {}) do
    local value = values[place]
    if has_group(value) then
      local key = entries .. ':by:' .. field
      local member = group_member(value, score, prefix, id)
      add(key, number, 0, member)
      if ranking == 100 then
        add(key .. ':ranks', number, 0, string.sub(member, 1, #value + 9 + sub_length))
      end
    end
  end
end

-- Must come before the entry itself is removed: its neighbours tell whether its score is shared.
local function unindex(number, id, prefix, score, values)
  local entries = KEYS[number]
  if ranking == 100 then
    local shared
    if with_sub then
      local place = call('ZRANK', entries, prefix .. id)
      local near = call('ZRANGE', entries, math.max(place - 1, 0), place + 1, 'WITHSCORES')
      for at = 1, #near, 2 do
        shared = shared or (near[at] ~= prefix .. id and tonumber(near[at + 1]) == tonumber(score)
          and string.sub(near[at], 1, 8) == string.sub(prefix, 1, 8))
      end
    else
      shared = call('ZCOUNT', entries, score, score) > 1
    end
    if not shared then call('ZREM', entries .. ':ranks', rank_key(tonumber(score), prefix)) end
  end
  for place, field in ipairs(groups or {}) do
    local value = values[place]
    if has_group(value) then
      local key = entries .. ':by:' .. field
      local member = group_member(value, score, prefix, id)
      call('ZREM', key, member)
      if ranking == 100 then
        local rank = string.sub(member, 1, #value + 9 + sub_length)
        if call('ZLEXCOUNT', key, '[' .. rank, '[' .. rank .. string.rep('\255', 300)) == 0 then
          call('ZREM', key .. ':ranks', rank)
        end
      end
    end
  end
end

local function group_values(id)
  return groups and call('HMGET', base .. ':user:' .. id, unpack(groups)) or nil
end

-- The score and prefix of a player in one sorted set, or among those set aside.
local function find(number, id, out)
  local entries = KEYS[number]
  local target = out and entries .. ':aside' or entries
  if not stamped then return call('ZSCORE', target, id), '' end
  local prefix = call('HGET', entries .. ':at', id)
  if not prefix then return false, '' end
  return call('ZSCORE', target, prefix .. id), prefix
end

local function stands_anywhere(id)
  for number = 2, #KEYS do
    local entries = KEYS[number]
    if stamped then
      if call('HEXISTS', entries .. ':at', id) == 1 then return number end
    elseif call('ZSCORE', entries, id) or call('ZSCORE', entries .. ':aside', id) then
      return number
    end
  end
end

-- Details live as long as the player stands anywhere: for ever on the board itself, else as long
-- as the last of the windows.
local function release_details(id)
  local first = stands_anywhere(id)
  local user = base .. ':user:' .. id
  if not first then
    call('DEL', user)
  elseif first > 2 then
    local latest = 0
    for number = first, #KEYS do
      if find(number, id) or find(number, id, true) then
        local moment = tonumber(expires[number])
        if not moment then
          call('PERSIST', user)
          return
        end
        latest = math.max(latest, moment)
      end
    end
    call('PEXPIREAT', user, latest)
  end
end

-- Take the worst out until the limit holds. Returns their ids, the worst first.
local function trim(number, most)
  local entries = KEYS[number]
  local over = math.min(call('ZCARD', entries) - limit, most)
  if limit == 0 or over <= 0 then return {} end
  local worst = call(desc and 'ZRANGE' or 'ZREVRANGE', entries, 0, over - 1, 'WITHSCORES')
  local ids = {}
  for at = 1, #worst, 2 do
    local member = worst[at]
    local id = string.sub(member, prefix_length + 1)
    ids[#ids + 1] = id
    if indexed then
      local prefix = string.sub(member, 1, prefix_length)
      unindex(number, id, prefix, worst[at + 1], group_values(id))
    end
    call('ZREM', entries, member)
    if stamped then call('HDEL', entries .. ':at', id) end
    release_details(id)
  end
  return ids
end
