-- presence: when each viewer was last seen, in seconds, in two sorted sets: accounts, which begin with
-- 'u:', and viewers without a name.
local ACCOUNT = 'u:'
local STEP = 2000 -- Lua unpacks some 8,000 values at most

local function now() return tonumber(call('TIME')[1]) end

-- Which of the two keys a viewer belongs to.
local function set_of(viewer) return viewer:sub(1, 2) == ACCOUNT and 1 or 2 end

-- Note that viewers are here now, and remove those who have not been seen for a while.
--
-- KEYS[1] sorted set of accounts
-- KEYS[2] sorted set of viewers without a name
-- ARGV[1] seconds for which an account is remembered
-- ARGV[2] seconds for which a viewer without a name is remembered
-- ARGV[3...] viewers
-- Returns 1
local function touch(keys, args)
  local moment, seen = now(), {{}, {}}
  for at = 3, #args do
    local list = seen[set_of(args[at])]
    list[#list + 1] = moment
    list[#list + 1] = args[at]
  end
  for set = 1, 2 do
    for at = 1, #seen[set], STEP do
      call('ZADD', keys[set], unpack(seen[set], at, math.min(at + STEP - 1, #seen[set])))
    end
    local memory = tonumber(args[set])
    call('ZREMRANGEBYSCORE', keys[set], '-inf', moment - memory)
    call('EXPIRE', keys[set], memory)
  end
  return 1
end

register('touch_present', touch)

-- Let viewers go offline in a moment, unless one of their other tabs reports before.
--
-- KEYS[1] sorted set of accounts
-- KEYS[2] sorted set of viewers without a name
-- ARGV[1] seconds after which a viewer counts as gone
-- ARGV[2] seconds they get
-- ARGV[3] channel for the other processes
-- ARGV[4] the board, or '' for the site
-- ARGV[5...] viewers
-- Returns how many of them were here
local function leave(keys, args)
  local expiring, channel, board, leaving = now() - args[1] + args[2], args[3], args[4], {}
  for at = 5, #args do
    local viewer = args[at]
    local key = keys[set_of(viewer)]
    local seen = call('ZSCORE', key, viewer)
    if seen and tonumber(seen) > expiring then
      call('ZADD', key, expiring, viewer)
      leaving[#leaving + 1] = viewer
    end
  end
  if #leaving > 0 then call('PUBLISH', channel, cjson.encode({board = board, viewers = leaving})) end
  return #leaving
end

register('leave_present', leave)

-- How many viewers are here; a few look-ups in two sorted sets, of any size.
--
-- KEYS[1] sorted set of accounts
-- KEYS[2] sorted set of viewers without a name
-- ARGV[1] seconds after which a viewer counts as gone
-- Returns the number
local function count(keys, args)
  local after = '(' .. (now() - args[1])
  return call('ZCOUNT', keys[1], after, '+inf') + call('ZCOUNT', keys[2], after, '+inf')
end

register_read('count_present', count)

-- The accounts that are here, last seen first.
--
-- KEYS[1] sorted set of accounts
-- ARGV[1] seconds after which a viewer counts as gone
-- ARGV[2] how many to list
-- Returns the accounts
local function list(keys, args)
  local after = '(' .. (now() - args[1])
  return call('ZRANGE', keys[1], '+inf', after, 'BYSCORE', 'REV', 'LIMIT', 0, args[2])
end

register_read('list_present', list)

-- Which of these accounts are here.
--
-- KEYS[1] sorted set of accounts
-- ARGV[1] seconds after which a viewer counts as gone
-- ARGV[2...] accounts
-- Returns 1 or 0 for each
local function check(keys, args)
  local after, here = now() - args[1], {}
  for at = 2, #args do
    local seen = call('ZSCORE', keys[1], args[at])
    here[at - 1] = seen and tonumber(seen) > after and 1 or 0
  end
  return here
end

register_read('check_present', check)
