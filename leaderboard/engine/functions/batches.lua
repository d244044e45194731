-- batches: a writer for rows of different players, with the functions of direct.lua. What becomes of
-- their entries is gathered by key and made in one ZADD, HSET and ZREM each.
--
--   sets       by key of a sorted set: its place, what to add, what to remove
--   stamps     by place: what to HSET
--   published  messages for open pages
--   first, last, moved   sequences: before the batch, the last given, the last that changed something

function batches.new(board)
  local first = board.rules.numbered and tonumber(call('GET', board.sequence) or 0)
  return {
    sets = {}, stamps = {}, published = {}, first = first, last = first, moved = first,
    together = true, next_sequence = batches.next_sequence, add = batches.add, drop = batches.drop,
    put = batches.put, note = batches.note, publish = batches.publish,
  }
end

function batches:next_sequence()
  self.last = self.last + 1
  return self.last
end

local function set_of(batch, key, place)
  local set = batch.sets[key]
  if not set then
    set = {place = place, added = {}, removed = {}}
    batch.sets[key] = set
  end
  return set
end

local function append(list, first, second)
  local size = #list
  list[size + 1], list[size + 2] = first, second
end

function batches:add(key, place, score, member) append(set_of(self, key, place).added, score, member) end

function batches:drop(key, place, member) append(set_of(self, key, place).removed, member) end

function batches:put(board, place, hidden, old, entry)
  if hidden then return direct:put(board, place, hidden, old, entry) end
  local set = set_of(self, place.entries, place)
  append(set.added, entry.text, entry.member)
  if old and old.member ~= entry.member then append(set.removed, old.member) end
  if board.rules.stamped then
    local list = self.stamps[place] or {}
    self.stamps[place] = list
    append(list, entry.id, entry.stored)
  end
end

function batches:note(_, sequence, moved)
  if moved then self.moved = sequence end
end

function batches:publish(_, event) append(self.published, event) end

-- Make the changes of one sorted set: first what goes, because a player whose group has changed in one
-- field leaves and enters the others. Returns whether it was made, perhaps anew, and has no TTL.
local function write_set(key, set)
  if #set.removed > 0 then call('ZREM', key, unpack(set.removed)) end
  if #set.added == 0 then return false end
  local added = call('ZADD', key, unpack(set.added))
  local is_new = set.place.expires and call('ZCARD', key) == added
  if is_new then entries.keep_until(key, set.place) end
  return is_new
end

-- Make all changes.
function batches.write(batch, board)
  for key, set in pairs(batch.sets) do
    set.is_new = write_set(key, set)
  end
  for place, values in pairs(batch.stamps) do
    call('HSET', place.stamps, unpack(values))
    if batch.sets[place.entries].is_new then entries.keep_until(place.stamps, place) end
  end
  if not batch.last or batch.last == batch.first then return end
  call('INCRBY', board.sequence, batch.last - batch.first)
  if batch.last > batch.moved then
    events.keep_quiet(board, batch.last, batch.last - batch.moved)
  end
end

function batches.publish_all(batch, board)
  if #batch.published > 0 then direct:publish(board, table.concat(batch.published, '\n')) end
end
