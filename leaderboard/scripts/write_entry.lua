-- Apply one submission to a board and its windows: score, details, trim, event, notice.
--
-- KEYS[1] the board's base key, KEYS[2] its entries, KEYS[3...] its windows' entries
-- ARGV[1] rules, further characters: 5 events (0/1), 6 notices (0/1), 7 one row (o), for
--         `write_entries` many (m) or all or nothing (a), 8 details in the answer (0/1), from 9 the
--         size limit, 0 for none
-- ARGV[2] further rules as JSON, or ''
-- ARGV[3...] the row, as rows.lua describes it
-- Returns {'season', number, state}: the season has moved, nothing was written
--         {'window', microseconds}: these windows are not now, nothing was written
--         else an answer: a code, or a list of replayed (0/1), rank or nil, score, previous rank or
--         nil, previous score or nil, changed (0/1), sequence or nil, subscore or nil, details or
--         nil when they are as given, ids trimmed or nil
-- include writing
local at = 3
local run, place, pending, added, noted, removed -- only many rows have these
-- include row_read
-- include row_write
-- include row_tell
return answer
