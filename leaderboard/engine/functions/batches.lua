-- batches: a writer for rows of different players, with the functions of direct.lua. What becomes of
-- their entries is gathered by key and made in one ZADD, HSET and ZREM each.
--
--   sets       by key of a sorted set: its place, what to add, what to remove and, for entries, what to
--              put among the stamps
--   published  messages for open pages
--   first, last, moved   sequences: before the batch, the last given, the last that changed something

function batches.new(board)
  local first = board.rules.numbered and tonumber(call('GET', board.sequence) or 0)
  return {
    sets = {}, published = {}, first = first, last = first, moved = first,
    together = true, next_sequence = batches.next_sequence, add = batches.add, drop = batches.drop,
    put = batches.put, note = batches.note, publish = batches.publish,
  }
end

function batches:next_sequence()
  self.last = self.last + 1
  return self.last
end

-- Lists know their size: to ask for it takes Lua a search.
local function append(list, value)
  local size = list.size + 1
  list[size], list.size = value, size
end

local function set_of(batch, key, place)
  local set = batch.sets[key]
  if not set then
    set = {place = place, added = {size = 0}, removed = {size = 0}, stamps = {size = 0}}
    batch.sets[key] = set
  end
  return set
end

function batches:add(key, place, score, member)
  local added = set_of(self, key, place).added
  append(added, score)
  append(added, member)
end

function batches:drop(key, place, member) append(set_of(self, key, place).removed, member) end

function batches:put(board, place, hidden, old, entry)
  if hidden then return direct:put(board, place, hidden, old, entry) end
  local key, member = place.entries, entry.member
  local set = self.sets[key] or set_of(self, key, place)
  local added, size = set.added, set.added.size
  added[size + 1], added[size + 2], added.size = entry.text, member, size + 2
  if board.rules.stamped then
    local stamped = set.stamps
    stamped[size + 1], stamped[size + 2], stamped.size = entry.id, entry.stored, size + 2
  end
  if old and old.member ~= member then append(set.removed, old.member) end
end

function batches:note(_, sequence, moved)
  if moved then self.moved = sequence end
end

function batches:publish(_, event) self.published[#self.published + 1] = event end

-- Make the changes of one sorted set: first what goes, because a player whose group has changed in one
-- field leaves and enters the others.
local function write_set(key, set)
  local place, added, removed, stamped = set.place, set.added, set.removed, set.stamps
  if removed.size > 0 then call('ZREM', key, unpack(removed, 1, removed.size)) end
  if added.size == 0 then return end
  local count = call('ZADD', key, unpack(added, 1, added.size))
  if stamped.size > 0 then call('HSET', place.stamps, unpack(stamped, 1, stamped.size)) end
  -- It was made, perhaps anew, and has no TTL.
  if place.expires and call('ZCARD', key) == count then
    entries.keep_until(key, place)
    if stamped.size > 0 then entries.keep_until(place.stamps, place) end
  end
end

-- Make all changes.
function batches.write(batch, board)
  for key, set in pairs(batch.sets) do write_set(key, set) end
  if not batch.last or batch.last == batch.first then return end
  call('INCRBY', board.sequence, batch.last - batch.first)
  if batch.last > batch.moved then
    events.keep_quiet(board, batch.last, batch.last - batch.moved)
  end
end

function batches.publish_all(batch, board)
  if #batch.published > 0 then direct:publish(board, table.concat(batch.published, '\n')) end
end
