-- Read a run of neighbouring entries with their ranks and details.
--
-- KEYS[1] the board's base key, KEYS[2] its entries
-- ARGV[1] rules
-- ARGV[2] d details, s microseconds and counter, a both
-- ARGV[3] what, ARGV[4] how many at most, ARGV[5] where, ARGV[6], ARGV[7] lowest and highest score,
--         as runs.lua describes them
-- Returns false when the player is not there, else the run as JSON
-- include rules
-- include ranks
-- include columns
-- include positions
-- include runs
local run = read_run(ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6], ARGV[7])
return run and cjson.encode(run)
