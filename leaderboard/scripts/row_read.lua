-- Part of a script's text, not a function, because a single row has no time for making one: look at
-- a row and decide, before anything is written. Returns from where it stands with the answer that
-- was given before, or with a code; else goes on.
--
-- Takes  at, where the row begins; run and place, when many are read at once; pending, the scores
--        that earlier rows would make, or nil
-- Leaves id, value, operator, count, first, given_sub, key, source, gone, once; out, whether the player is
--        hidden; found; previous and member, the text of the score and the member on the board;
--        old, old_sub, score, subscore; user, details, covered, same, old_values
local id, value = ARGV[at], tonumber(ARGV[at + 1])
local operator, count, first, given_sub, key, source, gone = read_row(at)
-- include row_once
local out = (run and run.hidden[place] or call('SISMEMBER', base .. ':hidden', id)) == 1
local stands = false
for number = 2, last do
  local stored
  if run and (stamped or not out) then
    stored = run[number][place]
  elseif stamped then
    stored = call('HGET', stamps[number], id)
    -- A key of another type must show before anything is written.
    if not stored then call('ZCARD', KEYS[number]) end
  else
    stored = call('ZSCORE', out and KEYS[number] .. ':aside' or KEYS[number], id)
  end
  found[number] = stored
  if stored then
    stands = true
    -- The board itself is looked at below, with the rows before this one.
    if operator == ADD and number > 2 then
      local sum = string.sub(stored, prefix_length + 1) + value
      if sum - sum ~= 0 then return 'score_overflow' end
    end
  end
end
local old_values = groups and group_values(id)
-- include row_details
local stored = found[2]
local previous, member = false, id
local old, old_sub, score, subscore = nil, NO_SUB, nil, nil
if stored then
  previous, member = string.sub(stored, prefix_length + 1), string.sub(stored, 1, prefix_length) .. id
  old = tonumber(previous)
  if with_sub then old_sub = prefix_sub(stored) end
end
if pending and pending[id] then old, old_sub = pending[id][1], pending[id][2] end
if operator == DETAILS then
  if not (stands or old) then return 'unknown_player' end
  score, subscore = old, old_sub
else
  score, subscore = decide(operator, value, given_sub, old, old_sub)
  local code = not score and subscore or (breach and breach(operator, value, score, old))
  if code then return code end
end
