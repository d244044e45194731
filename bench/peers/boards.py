"""Measure another leaderboard library against a bare ZADD on its own client; prints ratios as JSON.

Runs in an environment without Rostrum: `boards.py <port> <rounds>`.
"""

from __future__ import annotations

import json
import random
import sys

import redis
from leaderboard.leaderboard import Leaderboard
from rounds import print_ratios

PLAYERS = 100_000
HIGHEST = 1_000_000
BOARD = "peers:board"


def details(number):
    """The library keeps one text for each player."""
    return json.dumps(
        {"name": f"Player {number}", "country": "DE", "avatar": f"{number % 500}.png"}
    )


def contestants(client):
    board = Leaderboard(BOARD, redis_connection=client)
    chance = random.Random(1)
    for start in range(0, PLAYERS, 1000):
        with client.pipeline(transaction=False) as pipeline:
            for number in range(start, start + 1000):
                pipeline.zadd(BOARD, chance.randrange(HIGHEST), f"player-{number}")
                pipeline.hset(f"{BOARD}:member_data", f"player-{number}", details(number))
            pipeline.execute()

    def upsert():
        number = chance.randrange(PLAYERS)
        board.rank_member(f"player-{number}", chance.randrange(HIGHEST), details(number))
        return board.score_and_rank_for(f"player-{number}")

    def top():
        return board.members_from_rank_range(1, 100, with_member_data=True)

    def around():
        player = f"player-{chance.randrange(PLAYERS)}"
        return board.around_me(player, page_size=11, with_member_data=True)

    assert len(top()) == 100
    assert len(around()) in range(6, 12)
    yield "upsert", upsert
    yield "top", top
    yield "around", around


def main(port, rounds):
    client = redis.StrictRedis(port=port)
    chance = random.Random(2)

    def bare():
        client.zadd("peers:bare", chance.randrange(HIGHEST), f"player-{chance.randrange(1000)}")

    print_ratios(bare, {"leaderboard": contestants(client)}, rounds)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
