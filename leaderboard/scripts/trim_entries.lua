-- Bring a board and its windows down to their size limit, as far as one call may go.
--
-- KEYS[1] the board's base key, KEYS[2] its entries, KEYS[3...] its windows' entries
-- ARGV[1] rules and size limit, ARGV[2] further rules as JSON, or ''
-- ARGV[3] source
-- ARGV[4] first call of several (1) or a later one (0)
-- Returns {finished (0/1), id trimmed from the board itself, ...}, the worst first
-- include rules
-- include ranks
-- include places
-- include announce
local ids = trim(2, MOST_TRIMMED) or {}
local finished = #ids < MOST_TRIMMED
for number = 3, #KEYS do
  finished = #(trim(number, MOST_TRIMMED) or {}) < MOST_TRIMMED and finished
end
if ARGV[4] == '1' then announce('limit', '', ARGV[3]) end
table.insert(ids, 1, finished and 1 or 0)
return ids
