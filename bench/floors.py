"""What the commands themselves cost: the calls of a submission in scripts that decide nothing.

Nobody could use these. They say how much of a figure is Redis's own work on the sorted sets, which
no script can save.
"""

from __future__ import annotations

import random
import time
from typing import Any

import redis

from config.scripts import Script
from leaderboard import RedisLeaderboard

# The calls of one submission to a board with `earliest`, windows, event and notice; the player must
# be on the board and in every window.
ONE = Script(
    "calls_of_one",
    """
    local call, base, id, score = redis.call, KEYS[1], ARGV[1], ARGV[2]
    local time = call('TIME')
    call('XLEN', base .. ':events')
    call('SISMEMBER', base .. ':hidden', id)
    local old = {}
    for number = 2, #KEYS do old[number] = call('HGET', KEYS[number] .. ':at', id) end
    call('HGETALL', base .. ':user:' .. id)
    local sequence = call('INCR', base .. ':seq')
    local now = time[1] * 1000000 + time[2]
    local stamp = struct.pack('>I7I5', 9007199254740991 - now, 1099511627775 - sequence)
    local before = call('ZREVRANK', KEYS[2], string.sub(old[2], 1, 12) .. id)
    for number = 2, #KEYS do
      call('ZADD', KEYS[number], score, stamp .. id)
      call('HSET', KEYS[number] .. ':at', id, stamp .. score)
      call('ZREM', KEYS[number], string.sub(old[number], 1, 12) .. id)
    end
    local after = call('ZREVRANK', KEYS[2], stamp .. id)
    local news = '{"id":"' .. id .. '","rank":' .. after .. ',"previous_rank":' .. before .. '}'
    call('XADD', base .. ':events', 'MAXLEN', '~', 100000, '*', 'event', news)
    call('SPUBLISH', base .. ':live', news)
    return {after, before}
    """,
)

# Many rows at once, and nothing but the sorted sets and what finds the old entry: no ranks, no
# events, no answers.
MANY = Script(
    "sorted_sets_of_many",
    """
    local call = redis.call
    local time = call('TIME')
    local now = time[1] * 1000000 + time[2]
    local ids = {}
    for row = 1, #ARGV / 2 do ids[row] = ARGV[2 * row - 1] end
    for number = 2, #KEYS do
      local old = call('HMGET', KEYS[number] .. ':at', unpack(ids))
      local added, noted, removed = {}, {}, {}
      for row = 1, #ids do
        local id, score = ids[row], ARGV[2 * row]
        local stamp = struct.pack('>I7I5', 9007199254740991 - now, 1099511627775 - row)
        added[2 * row - 1], added[2 * row] = score, stamp .. id
        noted[2 * row - 1], noted[2 * row] = id, stamp .. score
        removed[row] = string.sub(old[row], 1, 12) .. id
      end
      call('ZADD', KEYS[number], unpack(added))
      call('HSET', KEYS[number] .. ':at', unpack(noted))
      call('ZREM', KEYS[number], unpack(removed))
    end
    """,
)
TOGETHER = 500


def sorted_sets_per_second(client: redis.Redis, board: RedisLeaderboard, players: int) -> float:
    """Rows a second that the sorted sets of a board alone take in, TOGETHER in a call."""
    chance = random.Random(4)
    names, _ = board._keys_now()
    calls: list[list[Any]] = [
        [
            value
            for number in chance.sample(range(players), TOGETHER)
            for value in (f"player-{number}", chance.randrange(10_000))
        ]
        for _ in range(40)
    ]
    start = time.perf_counter()
    for args in calls:
        MANY(client, names, args)
    return TOGETHER * len(calls) / (time.perf_counter() - start)
