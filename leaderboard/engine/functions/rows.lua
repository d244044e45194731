-- rows: submissions as they arrive in ARGV: id, value, a code, each detail's name and value, and the
-- names of details to remove.
--
-- The code is a letter for the operator and the number of details and, if there are any to remove, a
-- space and their number. A capital letter says that three more values are between it and the details,
-- '' where there is none: subscore, idempotency key and source.
local OPERATORS = {s = 'set', b = 'best', i = 'sum', d = 'details'}

-- Codes that were read before; there are some two hundred.
local known = {}

local function code_of(text)
  local code = known[text]
  if not code then
    local letter = text:sub(1, 1)
    local details_given, gone = text:match('(%d+) ?(%d*)')
    code = {
      operator = OPERATORS[letter:lower()], long = letter ~= letter:lower(),
      values = 2 * details_given, gone = tonumber(gone),
    }
    known[text] = code
  end
  return code
end

-- The row that begins at args[at]. Its details are args[first] to args[last], the names of those to
-- remove, if there are any, args[last + 1] to args[gone].
function rows.read(args, at)
  local code = code_of(args[at + 2])
  local first = at + 3
  local row = {
    args = args, at = at, id = args[at], value = tonumber(args[at + 1]), operator = code.operator,
    first = first, last = first + code.values - 1, source = '',
  }
  if code.long then
    row.first, row.last = row.first + 3, row.last + 3
    row.subscore, row.source = tonumber(args[at + 3]), args[at + 5]
    row.key = args[at + 4] ~= '' and args[at + 4] or nil
  end
  if code.gone then row.gone = row.last + code.gone end
  return row
end

-- All rows, the first beginning at args[at].
function rows.all(args, at)
  local list, count, last = {}, 0, #args
  while at <= last do
    local row = rows.read(args, at)
    count = count + 1
    list[count], at = row, (row.gone or row.last) + 1
  end
  return list
end
