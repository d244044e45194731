-- Change a player's details wherever the player has entries or details: on the board and in its
-- windows, past ones too, with or without an open season, hidden or not.
--
-- KEYS[1] the board's base key, KEYS[2] its entries, KEYS[3...] its windows' entries, past ones too
-- ARGV[1] rules and size limit, ARGV[2] further rules as JSON, or ''
-- ARGV[3] id
-- ARGV[4] source
-- ARGV[5] the name of a detail to remove, * for all that are not given
-- ARGV[6...] names and values
-- Returns {'season', number}: another season runs, nothing was written
--         else whether the player has entries or details here (1) or not (0)
-- include rules
-- include ranks
-- include places
-- include running
-- include announce
local id, removed = ARGV[3], ARGV[5]
local user = base .. ':user:' .. id
local before = call('HGETALL', user)
local out = call('SISMEMBER', base .. ':hidden', id) == 1
local places = {}
for number = 2, #KEYS do
  local score, prefix = find(number, id, out)
  if score then places[number] = {score, prefix} end
end
if #before == 0 and not next(places) then return 0 end

local given, stored, gone, changed = {}, {}, {}, false
for at = 1, #before, 2 do stored[before[at]] = before[at + 1] end
for at = 6, #ARGV, 2 do
  given[ARGV[at]] = ARGV[at + 1]
  changed = changed or stored[ARGV[at]] ~= ARGV[at + 1]
end
for name in pairs(stored) do
  if not given[name] and (removed == '*' or removed == name) then gone[#gone + 1] = name end
end
if not changed and #gone == 0 then return 1 end

local old_values = group_values(id)
call('HSET', user, unpack(ARGV, 6))
if #gone > 0 then call('HDEL', user, unpack(gone)) end
if #before == 0 then release_details(id) end -- a key that has just come to life gets its TTL
if groups and not out then
  local values = group_values(id)
  for number, place in pairs(places) do
    unindex(number, id, place[2], place[1], old_values)
    index(number, id, place[2], place[1], values)
  end
end
announce('details', id, ARGV[4], false, false, false, ',"details":' .. cjson.encode(given))
return 1
