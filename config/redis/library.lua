-- The opening of every library, before its modules.

-- `redis.call`, set by each call: Redis has nothing but `register_function` while a library loads.
local call

local function register_with(flags, name, callback)
  redis.register_function{
    function_name = PREFIX .. name,
    flags = flags,
    callback = function(keys, args)
      call = redis.call
      return callback(keys, args)
    end,
  }
end

local function register(name, callback) register_with({}, name, callback) end

-- A function that only reads: Redis refuses its writes, and a replica may run it.
local function register_read(name, callback) register_with({'no-writes'}, name, callback) end
