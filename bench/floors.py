"""What the commands themselves cost: the calls of a submission in functions that decide nothing.

Nobody could use these. They say how much of a figure is Redis's own work on the sorted sets, which
no function can save.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import redis

from config.redis.functions import Library
from leaderboard import RedisLeaderboard

LIBRARY = Library("floors", {"floors": Path(__file__).with_suffix(".lua").read_text()})
ONE = LIBRARY["calls_of_one"]
MANY = LIBRARY["sorted_sets_of_many"]
BARE = LIBRARY["bare"]
EMPTY = LIBRARY["empty"]
TUTORIAL = LIBRARY["tutorial"]
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
