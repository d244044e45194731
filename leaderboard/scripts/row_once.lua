-- Part of a script's text: a row whose key was answered before. Returns that answer from where it
-- stands; else goes on.
--
-- Takes  id and key, '' for none
-- Leaves once, the key under which the answer will be kept, or false
local once = false
if key ~= '' then
  once = base .. ':once:' .. #id .. ':' .. id .. ':' .. key
  local answer = call('GET', once)
  if answer then
    -- Also a write: WAIT after a repeated submission then speaks of the first one too.
    call('EXPIRE', once, DAY)
    answer = cmsgpack.unpack(answer)
    answer[1] = 1
    return answer
  end
end
