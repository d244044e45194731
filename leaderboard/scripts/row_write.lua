-- Part of a script's text: change the sorted sets and the details, after `row_read`.
--
-- Leaves sequence; moved, whether anything that a board shows has changed; text and member as they
--        are now, member false for a hidden player; previous_rank; changed (0/1) on the board itself, entered anywhere; news, the changed
--        details by name, null for one that is gone, or false
local sequence = false
if run then
  if numbered then run.sequence = run.sequence + 1 end
  sequence = numbered and run.sequence
elseif numbered then
  sequence = call('INCR', base .. ':seq')
end
local previous_rank = previous and not out and rank_of(KEYS[2], member, previous)
local text, changed, entered, news = previous, 0, false, false
local moved = not same
local values, regrouped = old_values, false
if not same then
  if events then
    news = {}
    for detail = first, first + 2 * count - 1, 2 do news[ARGV[detail]] = ARGV[detail + 1] end
    for detail = first + 2 * count, first + 2 * count + gone - 1 do
      news[ARGV[detail]] = cjson.null
    end
  end
  if count > 0 then call('HSET', user, unpack(ARGV, first, first + 2 * count - 1)) end
  if gone > 0 then call('HDEL', user, unpack(ARGV, first + 2 * count, first + 2 * count + gone - 1)) end
  if groups then
    values = group_values(id)
    for group = 1, #groups do regrouped = regrouped or values[group] ~= old_values[group] end
  end
end
local stamp = timed and stamp_bytes(now, sequence) or ''
for number = 2, last do
  local stored, old_text, old_prefix = found[number], false, nil
  if stored then
    old_text, old_prefix = string.sub(stored, prefix_length + 1), string.sub(stored, 1, prefix_length)
  end
  local new, new_sub = score, subscore
  if number > 2 and operator ~= DETAILS then
    old, old_sub = stored and tonumber(old_text) or nil, NO_SUB
    if with_sub and stored then old_sub = prefix_sub(stored) end
    new, new_sub = decide(operator, value, given_sub, old, old_sub)
  end
  if operator ~= DETAILS and (new ~= old or new_sub ~= old_sub) then
    local prefix = with_sub and sub_bytes(new_sub) .. stamp or stamp
    local new_text, new_member = number_text(new), prefix .. id
    local is_indexed = indexed and not out
    if is_indexed and stored then unindex(number, id, old_prefix, old_text, old_values) end
    if run and not out then
      local list, size = added[number], #added[number]
      list[size + 1], list[size + 2] = new_text, new_member
      if stamped then
        list = noted[number]
        list[size + 1], list[size + 2] = id, prefix .. new_text
      end
      if stored and old_prefix ~= prefix then
        list = removed[number]
        list[#list + 1] = old_prefix .. id
      end
    else
      local entries = out and KEYS[number] .. ':aside' or KEYS[number]
      call('ZADD', entries, new_text, new_member)
      if stamped then call('HSET', stamps[number], id, prefix .. new_text) end
      if not stored then
        if expires and call('ZCARD', entries) == 1 then
          keep_until(entries, number)
          if stamped then keep_until(stamps[number], number) end
        end
      elseif old_prefix ~= prefix then
        call('ZREM', entries, old_prefix .. id) -- after ZADD: an empty key would lose its TTL
      end
    end
    if is_indexed then index(number, id, prefix, new_text, values) end
    moved = moved or not out
    if number == 2 then text, member, changed = new_text, new_member, 1 end
    entered = entered or not stored
  elseif regrouped and stored and not out then
    unindex(number, id, old_prefix, old_text, old_values)
    index(number, id, old_prefix, old_text, values)
  end
end
if out then member = false end
if run and moved then run.moved = sequence or 0 end
