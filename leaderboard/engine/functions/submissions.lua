-- submissions: scores and details of players, one or many in a call.

-- Where the first row begins in ARGV.
local FIRST_OF_ONE, FIRST_OF_MANY = 2, 4

-- What is wrong with a row; nil when it may be written. `pending` has, by id, what earlier rows of the
-- same call would make of scores.
local function refusal(board, row, player, pending)
  if not pending and scores.is_always_taken(board.rules, row) then return nil end
  local before = pending and pending[row.id] or player.entries[1]
  local old, old_subscore = scores.of(board.rules, before)
  local score, subscore = scores.after(board.rules, row, old, old_subscore)
  local code = scores.refusal(board.rules, row, player, old, score)
  if pending and not code then pending[row.id] = {score = score, subscore = subscore} end
  return code
end

-- The rank of the player now, or false.
local function rank_after(writer, board, player, change, trimmed)
  local entry = change.entry
  if not entry or player.hidden then return false end
  if not change.changed and not writer.together then return change.previous_rank end
  if trimmed and not call('ZSCORE', board.main.entries, entry.member) then return false end
  return ranks.of(board.rules, board.main, entry)
end

-- What is left when the entries are written: trim, rank, publish, answer.
local function finish(writer, board, row, player, change, now, wants_details)
  local rules, entry, previous = board.rules, change.entry, player.entries[1]
  -- Details of who is on the board itself stay for good.
  if change.entered and rules.expires and not previous then
    call('PERSIST', board.user .. row.id)
  end
  -- Only now, because details go when their player has no entry.
  local trimmed = change.entered and rules.limit and not player.hidden and trims.after(board, player)
  local rank = rank_after(writer, board, player, change, trimmed)
  if rules.published then events.score(writer, board, row, player, change, rank, trimmed, now) end
  local answer = {
    0, rank, entry and entry.text, change.previous_rank, previous and previous.text,
    change.changed and 1 or 0, change.sequence,
    rules.subscore and entry and stamps.subscore_text(rules, entry.subscore) or false,
    wants_details and not player.covered and player.details, trimmed or false,
  }
  if row.key then replays.keep(board, row, answer) end
  return answer
end

-- One row that has not counted before, from what is stored to the answer: a list, or a code.
local function submit_row(board, row, now, wants_details)
  if board.rules.plain then return plain.submit(board, row, wants_details) end
  local player, code = players.find(board, row, wants_details)
  code = code or refusal(board, row, player)
  if code then return code end
  local change = changes.write(direct, board, row, player, now)
  return finish(direct, board, row, player, change, now, wants_details)
end

-- Apply one submission to a board and its windows: score, details, trim, rank, event, notice.
--
-- KEYS[1] the board's base key, KEYS[2] its entries, KEYS[3...] its windows' entries
-- ARGV[1] rules, see rules.lua
-- ARGV[2...] the row, see rows.lua
-- Returns {'season', number, state}: this season takes no scores now, because another one runs, none is
--         open or its time is over; nothing was written
--         {'window', microseconds}: that time is outside these windows, nothing was written
--         a code: the row is refused, nothing was written
--         else an answer: replayed (0/1), rank or nil, score, previous rank or nil, previous score or
--         nil, changed (0/1), sequence or nil, subscore or nil, details or nil when they are as given,
--         ids trimmed or nil
local function submit(keys, args)
  local board, row = boards.of(keys, args[1]), rows.read(args, FIRST_OF_ONE)
  -- Before the season: what counted has counted, although its season may be over by now.
  local answer = row.key and replays.find(board, row)
  if answer then return answer end
  local now = board.rules.needs_time and moments.now()
  local closed = seasons.refusal(board, now)
  if closed then return closed end
  events.check(board)
  return submit_row(board, row, now, true)
end

register('submit', submit)

-- As many values as Lua can give to a command at once are some thousands.
local MOST_TOGETHER = 1000

-- Whether rows must be written one by one: a row may push out the player of the next one, and a dense
-- rank depends on the entries around it.
local function one_by_one(rules) return rules.plain or rules.limit or rules.ranking == 'dense' end

-- The rows from the first on, up to the next one of a player who has one among them already.
local function different_players(list, first)
  local together, seen = {}, {}
  for number = first, math.min(#list, first + MOST_TOGETHER - 1) do
    local row = list[number]
    if seen[row.id] then break end
    seen[row.id], together[number - first + 1] = true, row
  end
  return together
end

-- What is stored of many players, read at once: for each row whether the player is hidden, and for
-- each place the stored texts.
local function read_together(board, together)
  local ids, stored = {}, {}
  for number, row in ipairs(together) do ids[number] = row.id end
  for number, place in ipairs(board.places) do
    call('ZCARD', place.entries) -- a key of another type must show before anything is written
    stored[number] = board.rules.stamped and call('HMGET', place.stamps, unpack(ids))
      or call('ZMSCORE', place.entries, unpack(ids))
  end
  return call('SMISMEMBER', board.hidden, unpack(ids)), stored
end

-- The player of a row among these; as players.find.
local function player_of(board, row, number, hidden, stored, wants_details)
  local is_hidden = hidden[number] == 1
  if is_hidden and not board.rules.stamped then return players.find(board, row, wants_details) end
  local own = {}
  for place = 1, #board.places do own[place] = stored[place][number] end
  return players.of(board, row, is_hidden, own, wants_details)
end

-- Write rows of different players together. The ranks before are of the board before them, the ranks
-- after of the board after them.
local function submit_together(board, together, now, wants_details, answers)
  local hidden, stored = read_together(board, together)
  local batch, before, found, written = batches.new(board), #answers, {}, {}
  for number, row in ipairs(together) do
    local answer, player, code = row.key and replays.find(board, row), nil, nil
    if not answer then
      player, code = player_of(board, row, number, hidden, stored, wants_details)
      answer = code or refusal(board, row, player)
    end
    answers[before + number] = answer or false
    if not answer then
      found[number], written[number] = player, changes.write(batch, board, row, player, now)
    end
  end
  batches.write(batch, board)
  for number, row in ipairs(together) do
    local change = written[number]
    if change then
      answers[before + number] = finish(batch, board, row, found[number], change, now, wants_details)
    end
  end
  batches.publish_all(batch, board)
end

-- What is wrong with rows of which all or none must be written: {'refused', number from 0, code, ...},
-- or nil.
local function refusals(board, list)
  local refused, pending = {'refused'}, {}
  for number, row in ipairs(list) do
    if not (row.key and replays.find(board, row)) then
      local player, code = players.find(board, row, false)
      code = code or refusal(board, row, player, pending)
      if code then
        refused[#refused + 1], refused[#refused + 2] = number - 1, code
      end
    end
  end
  return #refused > 1 and refused or nil
end

-- Apply many submissions, as `submit` does one.
--
-- KEYS as of `submit`
-- ARGV[1] rules, see rules.lua
-- ARGV[2] each: a wrong row is left out; all: one wrong row, and nothing is written
-- ARGV[3] details in the answers (1) or not (0)
-- ARGV[4...] rows, one after the other, see rows.lua
-- Returns {'refused', row, code, ...}: all was asked, and these rows, counted from 0, are wrong
--         {'season', ...} and {'window', ...} as `submit`
--         else a list: for each row an answer or a code as `submit`
local function submit_many(keys, args)
  local board = boards.of(keys, args[1])
  local rules, wants_details = board.rules, args[3] == '1'
  local now = rules.needs_time and moments.now()
  local list = rows.all(args, FIRST_OF_MANY)
  local closed = seasons.refusal(board, now)
  if closed then return replays.find_all(board, list) or closed end
  events.check(board)
  local refused = args[2] == 'all' and refusals(board, list)
  if refused then return refused end
  local answers = {}
  while #answers < #list do
    local first = #answers + 1
    local together = not one_by_one(rules) and different_players(list, first)
    if together and #together > 1 then
      submit_together(board, together, now, wants_details, answers)
    else
      local row = list[first]
      answers[first] = row.key and replays.find(board, row) or submit_row(board, row, now, wants_details)
    end
  end
  return answers
end

register('submit_many', submit_many)
