-- pages: runs of entries and given players, as JSON.

-- Read a run of neighbouring entries with their ranks and details.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] rules, see rules.lua
-- ARGV[2] what else than score and rank, see columns.lua
-- ARGV[3] what, ARGV[4] how many at most, ARGV[5] where, ARGV[6], ARGV[7] lowest and highest score, as
--         runs.read has them
-- Returns nil when the player is not there, else JSON: [size, matching, entries before the first,
--         columns, what `follows`]
local function read_page(keys, args)
  local board = boards.of(keys, args[1])
  local size = call('ZCARD', board.main.entries)
  local run = runs.read(board, size, args[3], tonumber(args[4]), args[5], args[6], args[7])
  if not run then return false end
  local list = columns.of_run(board, run, args[2])
  return cjson.encode({run.size, run.matching, run.first, list, run.follows})
end

register_read('read_page', read_page)

-- The entries of a run as objects, for answers that are passed on as they are; null for none, which as
-- a table would be an object in JSON.
local function objects(board, run)
  local rules, list = board.rules, {}
  for at = 1, #run.found, 2 do
    local member, number = run.found[at], (at + 1) / 2
    local id = rules.stamped and member:sub(rules.prefix_length + 1) or member
    local subscore = rules.subscore and stamps.subscore_text(rules, stamps.subscore(rules, member))
    list[number] = {
      rank = run.ranks and run.ranks[number] or run.first + number, player = id,
      score = run.found[at + 1], details = details.by_name(call('HGETALL', board.user .. id)),
      subscore = rules.subscore and (subscore or cjson.null) or nil,
    }
  end
  return #list > 0 and list or cjson.null
end

-- The last sequence that changed something; see events.keep_quiet.
local function sequence_of(board)
  local sequence = call('GET', board.sequence) or '0'
  local quiet = call('GET', board.quiet)
  if not quiet then return sequence end
  local changed, until_then = quiet:match('(%d+) (%d+)')
  return until_then == sequence and changed or sequence
end

-- Read any number of runs of entries, and at which sequence and in which season they are so.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] rules, see rules.lua
-- ARGV[2] the season that the caller takes for the running one
-- ARGV[3...] for each run: what, how many at most, where, as runs.read has them, and the sequence of
--         which the caller has it already, or ''
-- Returns JSON: [sequence, season or null, runs], numbers as text. A run is [size, matching, entries
--         before the first, objects or null, what `follows`]; false when its player is not there, true
--         when it is as the caller has it. false for all runs when another season is running
local function read_pages(keys, args)
  local board, believed = boards.of(keys, args[1]), args[2]
  local sequence, season = sequence_of(board), call('HGET', board.pointer, 'number')
  local list = (season or '1') == believed and {}
  if list then
    local size = call('ZCARD', board.main.entries)
    for at = 3, #args, 4 do
      local what, count, start, known = args[at], tonumber(args[at + 1]), args[at + 2], args[at + 3]
      local run = known == sequence or runs.read(board, size, what, count, start)
      if type(run) == 'table' then
        run = {run.size, run.matching, run.first, objects(board, run), run.follows}
      end
      list[#list + 1] = run
    end
  end
  return cjson.encode({sequence, season or cjson.null, list})
end

register_read('read_pages', read_pages)

-- Read the entries of given players.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] rules, see rules.lua
-- ARGV[2] what else than score and rank, see columns.lua; b for the numbers of better entries
-- ARGV[3...] ids
-- Returns JSON: [size, places by ordinal rank, numbers of entries with a better score, columns] for
--         those found
local function read_players(keys, args)
  local board, wanted = boards.of(keys, args[1]), args[2]
  local rules, place = board.rules, board.main
  local places, better, list = {}, {}, columns.new(board, wanted)
  for at = 3, #args do
    local member, score = entries.member(board, place, args[at])
    local before = call(rules.rank_command, place.entries, member)
    if before then
      local number = #places + 1
      score = score or call('ZSCORE', place.entries, member)
      places[number] = before + 1
      if wanted == 'b' then better[number] = ranks.better(rules, place, score) end
      columns.put(list, member, score, rules.ranking ~= 'ordinal'
        and ranks.of(rules, place, entries.of_member(rules, member, score)))
    end
  end
  return cjson.encode({call('ZCARD', place.entries), places, better, list.values})
end

register_read('read_players', read_players)
