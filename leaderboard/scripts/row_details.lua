-- Part of a script's text: what becomes of a player's details. Returns a code from where it stands
-- when they are too many; else goes on.
--
-- Takes  id, count, first, gone, once, wants_details
-- Leaves user, details, covered, same, as `merged_details` in rows.lua returns them
local user = base .. ':user:' .. id
local details, covered, same = false, true, true
if count > 0 or gone > 0 or wants_details then
  details, covered, same = merged_details(user, first, count, gone)
  if not details then return covered end
  if covered and once then
    -- Kept for a replay, whose caller may give other details.
    details, covered = {unpack(ARGV, first, first + 2 * count - 1)}, false
  end
end
