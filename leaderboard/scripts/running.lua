-- Part of a script's text: refuse when another season runs than the one these keys are of, so that
-- what is done to a player is done in the season that counts; needs `places`. A season that has
-- ended, with none after it, is still the board's.
local running = extra.season and call('HGET', base .. ':season', 'number')
if running and running ~= extra.season then return {'season', running} end
