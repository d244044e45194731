-- Places in the order of a board, as text: a score, the bytes before the id as hex, and the id where
-- ties go by id. The entry itself may have moved or gone; needs `rules`.

-- Returns the score, and the member or as much of it as orders the board.
local function read_position(text)
  local score, hex, id = string.match(text, '^(%S+) (%x*) (.*)$')
  return score, string.gsub(hex, '%x%x', function(pair)
    return string.char(tonumber(pair, 16))
  end) .. id
end

-- The bytes before the id, as hex.
local function prefix_hex(member)
  return (string.gsub(string.sub(member, 1, prefix_length), '.', function(byte)
    return string.format('%02x', string.byte(byte))
  end))
end
