-- numbers: as text, and as bytes that keep their order.

-- The last one is kept, because a score goes into several sorted sets.
local last_number, last_text

-- A text that gives the same double back, short where it can be; Lua's own has 14 digits.
function numbers.text(number)
  if number == last_number then return last_text end
  local text
  if number % 1 == 0 and number < 1e15 and number > -1e15 then
    text = string.format('%d', number) -- the same digits, in a third of the time
  else
    text = string.format('%.15g', number)
    if tonumber(text) ~= number then text = string.format('%.17g', number) end
  end
  last_number, last_text = number, text
  return text
end

local function inverted(a, b, c, d, e, f, g, h)
  return string.char(255 - a, 255 - b, 255 - c, 255 - d, 255 - e, 255 - f, 255 - g, 255 - h)
end

-- Eight bytes that sort as the doubles do.
function numbers.sortable(number)
  if number == 0 then number = 0 end -- no negative zero
  local a, b, c, d, e, f, g, h = struct.pack('>d', number):byte(1, 8)
  if a < 128 then return string.char(a + 128, b, c, d, e, f, g, h) end
  return inverted(a, b, c, d, e, f, g, h)
end

-- The number in the eight bytes from `first`.
function numbers.from_sortable(bytes, first)
  local a, b, c, d, e, f, g, h = bytes:byte(first, first + 7)
  local packed = a >= 128 and string.char(a - 128, b, c, d, e, f, g, h)
    or inverted(a, b, c, d, e, f, g, h)
  return (struct.unpack('>d', packed))
end
