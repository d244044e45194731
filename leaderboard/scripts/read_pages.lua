-- Read any number of runs of entries, and at which sequence and in which season they are so.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] rules
-- ARGV[2] the season that the caller takes for the running one
-- ARGV[3...] for each run: what, how many at most, where, as runs.lua describes them, and the
--         sequence of which the caller has it already, or ''
-- Returns JSON: [sequence, season or null, runs], numbers as text; a run is false when its player is
--         not there, true when it is as the caller has it; false for all when another season is
--         running
-- include rules
-- include ranks
-- include objects
-- include positions
-- include runs
local sequence = call('GET', KEYS[1] .. ':seq') or '0'
-- Sequences that changed nothing leave the board as it was before them; see telling.lua.
local quiet = call('GET', KEYS[1] .. ':quiet')
if quiet then
  local changed, until_then = string.match(quiet, '(%d+) (%d+)')
  if until_then == sequence then sequence = changed end
end
local season = call('HGET', KEYS[1] .. ':season', 'number')
local runs = (season or '1') == ARGV[2] and {}
if runs then
  for at = 3, #ARGV, 4 do
    runs[#runs + 1] = ARGV[at + 3] == sequence
      or read_run(ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2])
  end
end
return cjson.encode({sequence, season or cjson.null, runs})
