-- Part of a script's text: the rest of a row, when its entries stand in the sorted sets: trim, rank,
-- event and notice.
--
-- Takes  what `row_read` and `row_write` leave
-- Leaves answer
local trimmed, rank = false, false
if entered then
  -- On the board itself for good.
  if expires and not previous then call('PERSIST', base .. ':user:' .. id) end
  -- Only now, because details go when their player stands nowhere.
  if limit > 0 and member then
    for number = 2, last do
      local ids = not found[number] and trim(number, MOST_TRIMMED)
      if number == 2 then trimmed = ids end
    end
  end
end
if text and member then
  rank = previous_rank
  if (changed == 1 or run) and (not trimmed or call('ZSCORE', KEYS[2], member)) then
    rank = rank_of(KEYS[2], member, text)
  end
end
local second = with_sub and text and sub_text(subscore)
if events or notices then
  local more = ''
  if with_sub then
    more = ',"subscore":' .. (second or 'null')
      .. ',"given_subscore":' .. (given_sub and number_text(given_sub) or 'null')
  end
  if key ~= '' then more = more .. ',"key":' .. quoted(key) end
  if news then more = more .. ',"details":' .. cjson.encode(news) end
  if trimmed and #trimmed > 0 then more = more .. ',"trimmed":' .. cjson.encode(trimmed) end
  tell((operator == DETAILS and '{"op":"details","id":' or '{"op":"score","id":') .. quoted(id)
    .. ',"seq":' .. sequence .. ',"at":' .. now_text
    .. ',"season":' .. (extra.season or 'null')
    .. ',"source":' .. (source == '' and '""' or quoted(source))
    .. ',"operator":"' .. (operator == SET and 'set' or operator == BEST and 'best'
      or operator == ADD and 'sum' or '')
    .. '","value":' .. (operator == DETAILS and 'null' or ARGV[at + 1])
    .. ',"score":' .. (text or 'null') .. ',"previous":' .. (previous or 'null')
    .. ',"rank":' .. (rank or 'null') .. ',"previous_rank":' .. (previous_rank or 'null')
    .. more .. '}', run and run.notices, not moved)
end
if numbered and not run and not moved then keep_quiet(sequence, 1) end
local answer = {
  0, rank, text, previous_rank, previous, changed, sequence, second,
  wants_details and not covered and details, trimmed,
}
if once then call('SET', once, cmsgpack.pack(answer), 'EX', DAY) end
