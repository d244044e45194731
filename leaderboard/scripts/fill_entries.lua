-- Fill a fresh sorted set with entries that have their times already: for rebuilding, and for a
-- board with a great many players. Nobody may stand in it yet, so nothing is looked up, and each
-- key is written once for the whole portion.
--
-- KEYS[1] the board's base key, KEYS[2] the fresh entries
-- ARGV[1] rules and size limit (not applied), ARGV[2] further rules as JSON, or ''
-- ARGV[3] rows in MessagePack: id, score, subscore or nil, microseconds, counter, and a list of details'
--         names and values in turn
-- Returns the number of rows
-- include rules
-- include ranks
-- include places
local entries, user = KEYS[2], base .. ':user:'
local rows = cmsgpack.unpack(ARGV[3])
local any_hidden = call('EXISTS', base .. ':hidden') == 1
-- What goes to each key, as it is given to ZADD or HSET.
local shown, aside, stamps, ranks = {}, {}, {}, {}
local by_group, place_of = {}, {}
for place = 1, groups and #groups or 0 do
  by_group[place] = {{}, {}}
  place_of[groups[place]] = place
end

local function put(list, first, second)
  list[#list + 1] = first
  list[#list + 1] = second
end

-- The values of the groups as the row gives them; false when it does not give them all.
local function given_values(details)
  local values = {}
  for at = 1, #details, 2 do
    local place = place_of[details[at]]
    if place then values[place] = details[at + 1] end
  end
  for place = 1, #groups do
    if not values[place] then return false end
  end
  return values
end

for _, row in ipairs(rows) do
  local id, score, subscore, microseconds, counter, details = unpack(row, 1, 6)
  local prefix = (with_sub and sub_bytes(subscore or NO_SUB) or '')
    .. (timed and stamp_bytes(microseconds, counter) or '')
  local text = number_text(score)
  if #details > 0 then call('HSET', user .. id, unpack(details)) end
  if stamped then put(stamps, id, prefix .. text) end
  if any_hidden and call('SISMEMBER', base .. ':hidden', id) == 1 then
    put(aside, text, prefix .. id)
  else
    put(shown, text, prefix .. id)
    if ranking == 100 then
      put(ranks, text, rank_key(text, prefix))
    elseif rank_key then
      put(ranks, 0, rank_key(text, prefix) .. id)
    end
    if groups then
      local values = given_values(details) or group_values(id)
      for place, value in ipairs(values) do
        if value and value ~= '' then
          local head = value .. '\0' .. sortable(score)
          put(by_group[place][1], 0, head .. prefix .. id)
          if ranking == 100 then
            put(by_group[place][2], 0, head .. string.sub(prefix, 1, sub_length))
          end
        end
      end
    end
  end
end

local function write(command, key, list)
  if #list > 0 then
    call(command, key, unpack(list))
    keep_until(key, 2)
  end
end
write('ZADD', entries, shown)
write('ZADD', entries .. ':aside', aside)
write('HSET', entries .. ':at', stamps)
write('ZADD', entries .. ':ranks', ranks)
for place, lists in ipairs(by_group) do
  write('ZADD', entries .. ':by:' .. groups[place], lists[1])
  write('ZADD', entries .. ':by:' .. groups[place] .. ':ranks', lists[2])
end
return #rows
