-- sessions: one hash per session, and an index of each user's. They live in different slots of a
-- cluster, so no function writes both.

-- Lua unpacks some 8,000 values at most; an even step keeps each field with its value.
local STEP = 1000

local function in_steps(command, key, args, first, last)
  for at = first, last, STEP do
    call(command, key, unpack(args, at, math.min(at + STEP - 1, last)))
  end
end

-- Remove the data fields, which begin with a dot.
local function remove_data(session)
  for _, field in ipairs(call('HKEYS', session)) do
    if field:sub(1, 1) == '.' then call('HDEL', session, field) end
  end
end

-- Write the changed fields of one session; never brings a deleted session back.
--
-- KEYS[1] the session's hash
-- ARGV[1] create (refuse when it exists), update (refuse when it is gone) or replace (as update, and
--         every data field not given here goes)
-- ARGV[2] time to live in milliseconds, or '' to leave it as it is
-- ARGV[3] how many fields to remove
-- ARGV[4...] the fields to remove, then field, value, field, value, …
-- Returns 1 when written, 0 when refused
local function save(keys, args)
  local session, mode, ttl, last_removed = keys[1], args[1], args[2], 3 + args[3]
  local creating = mode == 'create'
  if creating or ttl == '' then
    if (call('EXISTS', session) == 1) == creating then return 0 end
  elseif call('PEXPIRE', session, ttl) == 0 then
    return 0 -- PEXPIRE answers in one call whether the session is there
  end
  -- An expiry in the past: PEXPIRE has removed it, and there is nothing to create.
  if ttl ~= '' and tonumber(ttl) <= 0 then return 1 end

  if mode == 'replace' then remove_data(session) end
  -- `started` is never removed, so the hash does not vanish, and its time to live with it.
  in_steps('HDEL', session, args, 4, last_removed)
  in_steps('HSET', session, args, last_removed + 1, #args)
  if creating then call('PEXPIRE', session, ttl) end
  return 1
end

register('save_session', save)

-- Delete one session and publish that it ended, for open streams.
--
-- KEYS[1] the session's hash
-- ARGV[1] its SHA-256, which is the message
-- ARGV[2] the channel
-- ARGV[3] the user it must belong to, or '' for anybody
-- Returns nil when there was nothing to delete, else its user id ('' for nobody's)
local function delete(keys, args)
  local session, digest, channel, owner = keys[1], args[1], args[2], args[3]
  if call('EXISTS', session) == 0 then return false end
  local user = call('HGET', session, 'user') or ''
  if owner ~= '' and owner ~= user then return false end
  call('DEL', session)
  if user ~= '' then call('PUBLISH', channel, digest) end
  return user
end

register('delete_session', delete)

-- Put a session into its user's index, drop what has expired, and list what is too much.
--
-- KEYS[1] the user's sorted set of sessions
-- ARGV[1] the session's SHA-256
-- ARGV[2] when it expires, in seconds since 1970
-- ARGV[3] how many sessions a user may have
-- Returns {SHA-256, score, …} of the sessions beyond that number, soonest to expire first
local function index(keys, args)
  local user, digest, expires, most = keys[1], args[1], args[2], tonumber(args[3])
  call('ZREMRANGEBYSCORE', user, '-inf', call('TIME')[1])
  call('ZADD', user, expires, digest)
  local latest = call('ZRANGE', user, -1, -1, 'WITHSCORES')[2]
  call('EXPIREAT', user, math.ceil(tonumber(latest)) + 1)

  local surplus, excess = {}, call('ZCARD', user) - most
  local soonest = excess > 0 and call('ZRANGE', user, 0, excess, 'WITHSCORES') or {}
  for at = 1, #soonest, 2 do
    if soonest[at] ~= digest and #surplus < 2 * excess then
      surplus[#surplus + 1] = soonest[at]
      surplus[#surplus + 1] = soonest[at + 1]
    end
  end
  return surplus
end

register('index_session', index)

-- The sessions in a user's index.
--
-- KEYS[1] the user's sorted set of sessions
-- ARGV[1] how many at most
-- Returns {SHA-256, score, …}, soonest to expire first
local function list(keys, args) return call('ZRANGE', keys[1], 0, args[1] - 1, 'WITHSCORES') end

register_read('list_sessions', list)

-- Take entries that were found without a session out of a user's index, unless they were written again
-- since: then their session was just being made, and its entry must stay.
--
-- KEYS[1] the user's sorted set of sessions
-- ARGV    SHA-256 and score as they were found, SHA-256, score, …
-- Returns how many went
local function drop(keys, args)
  local user, gone = keys[1], 0
  for at = 1, #args, 2 do
    local score = call('ZSCORE', user, args[at])
    if score and tonumber(score) == tonumber(args[at + 1]) then
      gone = gone + call('ZREM', user, args[at])
    end
  end
  return gone
end

register('drop_sessions', drop)
