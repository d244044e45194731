-- How an entry is put into a sorted set and taken out, with all that hangs on it; needs `rules`
-- and `ranks`.
--
-- KEYS[1] the board's base key, KEYS[2] its entries, KEYS[3...] its windows' entries
-- ARGV[1] rules, from character 9 the size limit, 0 for none
-- ARGV[2] further rules as JSON, or '' (see Board._extra in base.py)
local base = KEYS[1]
local limit = tonumber(string.sub(ARGV[1], 9))
local extra = ARGV[2] ~= '' and cjson.decode(ARGV[2]) or {}
local groups, expires = extra.groups, extra.expires
local indexed = groups or rank_key
-- A submission to a board without a limit never takes anybody out; other scripts may.
local removing = limit > 0 or string.byte(ARGV[1], 7) == 45
-- More than this in one call would keep other clients waiting.
local MOST_TRIMMED = 10000

-- The hash of prefixes and scores beside each sorted set.
local stamps = {}
if stamped then
  for number = 2, #KEYS do stamps[number] = KEYS[number] .. ':at' end
end

-- When the entries in KEYS[number] may go, in milliseconds as text, or '' for never.
local function expiry(number)
  local place = 0
  for moment in string.gmatch(expires .. ',', '(.-),') do
    place = place + 1
    if place == number then return moment end
  end
end

local function keep_until(key, number)
  local moment = expires and expiry(number)
  if moment and moment ~= '' then call('PEXPIREAT', key, moment) end
end

-- Changes of the sorted sets beside the entries that wait for the end of a run, by key: the number
-- of the entries' key, what to add and what to remove. nil when each is made at once.
local waiting

-- What submissions to most boards do not need.
local add, drop, find
if indexed or removing then
  local function awaited(key, number)
    local lists = waiting[key] or {number, {}, {}}
    waiting[key] = lists
    return lists
  end

  -- A key that has just come to life gets its TTL; asking on every write would cost more.
  add = function(key, number, score, member)
    if waiting then
      local list = awaited(key, number)[2]
      list[#list + 1], list[#list + 2] = score, member
    elseif call('ZADD', key, score, member) == 1 and expires and call('ZCARD', key) == 1 then
      keep_until(key, number)
    end
  end

  drop = function(key, number, member)
    if waiting then
      local list = awaited(key, number)[3]
      list[#list + 1] = member
    else
      call('ZREM', key, member)
    end
  end

  -- The score and prefix of a player in one sorted set, or among those set aside, `out` being
  -- whether the player is hidden; false and ''.
  find = function(number, id, out)
    local entries = KEYS[number]
    if not stamped then return call('ZSCORE', out and entries .. ':aside' or entries, id), '' end
    local found = call('HGET', stamps[number], id)
    if found then
      return string.sub(found, prefix_length + 1), string.sub(found, 1, prefix_length)
    end
    call('ZCARD', entries) -- another type must show before anything is written
    return false, ''
  end
end

-- index and unindex keep the sorted sets beside the entries: that of the ranks, where `rank_key` is
-- made, and one per field in `groups`, whose members are value, NUL, score, prefix and id.
local index, unindex, group_values
if groups then
  group_values = function(id) return call('HMGET', base .. ':user:' .. id, unpack(groups)) end
else
  group_values = function() end
end
if indexed then
  -- Calls back with the key and member of each group the player is in, and the part of the
  -- member that players of the same rank share.
  local function each_group(number, id, prefix, score, values, visit)
    for place = 1, groups and #groups or 0 do
      local value = values[place]
      if value and value ~= '' then
        local head = value .. '\0' .. sortable(tonumber(score))
        visit(KEYS[number] .. ':by:' .. groups[place], head .. prefix .. id,
          head .. string.sub(prefix, 1, sub_length))
      end
    end
  end

  index = function(number, id, prefix, score, values)
    if ranking == 100 then
      add(KEYS[number] .. ':ranks', number, score, rank_key(score, prefix))
    elseif rank_key then
      add(KEYS[number] .. ':ranks', number, 0, rank_key(score, prefix) .. id)
    end
    each_group(number, id, prefix, score, values, function(key, member, shared)
      add(key, number, 0, member)
      if ranking == 100 then add(key .. ':ranks', number, 0, shared) end
    end)
  end

  -- Whether the neighbours of an entry have its score and subscore too.
  local function is_shared(entries, member, score)
    if not with_sub then return call('ZCOUNT', entries, score, score) > 1 end
    local place = call('ZRANK', entries, member)
    local near = call('ZRANGE', entries, math.max(place - 1, 0), place + 1, 'WITHSCORES')
    for at = 1, #near, 2 do
      if near[at] ~= member and tonumber(near[at + 1]) == tonumber(score)
          and string.sub(near[at], 1, 8) == string.sub(member, 1, 8) then
        return true
      end
    end
    return false
  end

  -- Must come before the entry itself is removed.
  unindex = function(number, id, prefix, score, values)
    local entries = KEYS[number]
    if ranking == 100 then
      if not is_shared(entries, prefix .. id, score) then
        drop(entries .. ':ranks', number, rank_key(score, prefix))
      end
    elseif rank_key then
      drop(entries .. ':ranks', number, rank_key(score, prefix) .. id)
    end
    each_group(number, id, prefix, score, values, function(key, member, shared)
      drop(key, number, member)
      if ranking == 100 and call('ZLEXCOUNT', key, '[' .. shared, '(' .. shared .. '\255') == 0 then
        drop(key .. ':ranks', number, shared)
      end
    end)
  end
end

local release_details, trim
if removing then
  local function stands_anywhere(id)
    for number = 2, #KEYS do
      local entries = KEYS[number]
      if stamped then
        if call('HEXISTS', stamps[number], id) == 1 then return number end
      elseif call('ZSCORE', entries, id) or call('ZSCORE', entries .. ':aside', id) then
        return number
      end
    end
  end

  -- Details live as long as the player stands anywhere: for ever on the board itself, else as long
  -- as the last of the windows.
  release_details = function(id)
    local first = stands_anywhere(id)
    local user = base .. ':user:' .. id
    if not first then
      call('DEL', user)
    elseif first > 2 then
      local latest = 0
      for number = first, #KEYS do
        if find(number, id) or find(number, id, true) then
          local moment = tonumber(expiry(number))
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

  -- Take the worst out until the limit holds. Returns their ids, the worst first, or false.
  trim = function(number, most)
    local entries = KEYS[number]
    local over = math.min(call('ZCARD', entries) - limit, most)
    if limit == 0 or over <= 0 then return false end
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
      if stamped then call('HDEL', stamps[number], id) end
      release_details(id)
    end
    return ids
  end
end
