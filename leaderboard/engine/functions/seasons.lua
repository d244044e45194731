-- seasons: which season a board is in. The pointer is a hash: number, state, opens, closes.

-- Why nothing may be written now by these rules; nil when it may.
-- Returns {'season', number, state}: another season runs, or none, or its time is over
--         {'window', microseconds}: these windows are not the present ones
function seasons.refusal(board, now)
  local rules = board.rules
  if rules.season then
    local pointer = call('HMGET', board.pointer, 'number', 'state', 'closes')
    local number, state, closes = pointer[1], pointer[2], tonumber(pointer[3] or '')
    if number ~= rules.season or state ~= 'open' or (closes and now >= closes) then
      return {'season', number, state}
    end
  end
  if rules.from and (now < rules.from or now >= rules['until']) then
    return {'window', moments.text(now)}
  end
end

-- {'season', number} when another season runs than the one these keys are of, so that what is done to
-- a player is done in the season that counts. One that has ended, with none after it, still is the
-- board's.
function seasons.moved(board)
  local own = board.rules.season
  local running = own and call('HGET', board.pointer, 'number')
  if running and running ~= own then return {'season', running} end
end

local function publish(channel, sequence, now, what, season)
  call('SPUBLISH', channel, string.format(
    '{"seq":%d,"at":%s,"op":"%s","season":%s}', sequence, now, what, season))
end

-- Move a board's season pointer, if it still is where the caller believes it to be.
--
-- The pointer decides which season a score lands in. Moving it is what ends a season: from the next
-- command on, every write that believes in the old number is refused.
--
-- KEYS[1] season pointer (hash)
-- KEYS[2] ended seasons that wait for their archive (hash: number → "opens closes ended")
-- KEYS[3] sequence (string)
-- KEYS[4] live channel
-- ARGV[1] season number the caller believes in, '' for no pointer at all
-- ARGV[2] state it believes in
-- ARGV[3] over: end the season, only when its time is over; end: end it now; keep: move without ending
--         one
-- ARGV[4] number, ARGV[5] state, ARGV[6] opens ('' for now), ARGV[7] closes ('' for by hand) of the
--         pointer to be; times in microseconds
-- Returns {1 when moved, else 0; number, state, opens, closes as they are now}
local function move_season(keys, args)
  local pointer_key, ended_key, sequence_key, channel = unpack(keys)
  local believed_number, believed_state, mode, number, state, opens, closes = unpack(args)
  local pointer = call('HMGET', pointer_key, 'number', 'state', 'opens', 'closes')
  for at = 1, 4 do pointer[at] = pointer[at] or '' end
  local old_number, old_state, old_opens, old_closes = unpack(pointer)
  local microseconds = moments.now()
  local now = moments.text(microseconds)
  local over = old_closes ~= '' and microseconds >= tonumber(old_closes)
  if old_number ~= believed_number or old_state ~= believed_state or (mode == 'over' and not over) then
    return {0, unpack(pointer)}
  end
  if mode ~= 'keep' then
    local ended = over and old_closes or now
    call('HSET', ended_key, old_number, old_opens .. ' ' .. old_closes .. ' ' .. ended)
  end
  opens = opens ~= '' and opens or now
  call('HSET', pointer_key, 'number', number, 'state', state, 'opens', opens, 'closes', closes)
  publish(channel, call('INCR', sequence_key), now, 'season', number)
  return {1, number, state, opens, closes}
end

register('move_season', move_season)

-- Put rebuilt entries in the place of the live ones, all sorted sets of a board in one step, and let
-- writers go on. Nothing is left to be made again.
--
-- KEYS[1] season pointer (hash), KEYS[2] sequence (string), KEYS[3] live channel,
-- KEYS[4...] live sorted sets
-- ARGV[1] the season number and ARGV[2] the state in which the pointer must be, ARGV[3] its state
--         afterwards
-- ARGV[4] the least that the sequence must be
-- ARGV[5...] what is renamed with each sorted set: '', ':at', ':aside', …
-- Returns 1 when swapped, 0 when the season moved meanwhile
local function swap_entries(keys, args)
  local pointer_key, sequence_key, channel = unpack(keys)
  local number, state, next_state, least = unpack(args)
  local pointer = call('HMGET', pointer_key, 'number', 'state')
  if pointer[1] ~= number or pointer[2] ~= state then return 0 end
  for at = 4, #keys do
    for suffix = 5, #args do
      local live, fresh = keys[at] .. args[suffix], keys[at] .. ':rebuilt' .. args[suffix]
      -- Unlinked first: RENAME itself would free a large sorted set while everybody waits.
      call('UNLINK', live)
      if call('EXISTS', fresh) == 1 then call('RENAME', fresh, live) end
    end
  end
  if tonumber(call('GET', sequence_key) or '0') < tonumber(least) then
    call('SET', sequence_key, least)
  end
  local sequence = call('INCR', sequence_key)
  call('HSET', pointer_key, 'state', next_state)
  call('HDEL', pointer_key, 'remake')
  publish(channel, sequence, moments.text(moments.now()), 'reset', number)
  return 1
end

register('swap_entries', swap_entries)
