"""The leaderboard engine: every operation one atomic call to Redis, sync and async."""

from leaderboard.engine.board import AsyncRedisLeaderboard, RedisLeaderboard
from leaderboard.engine.errors import LeaderboardError, RowsRefusedError, SeasonMovedError
from leaderboard.engine.rules import Rules
from leaderboard.engine.values import Submission

__all__ = [
    "AsyncRedisLeaderboard",
    "LeaderboardError",
    "RedisLeaderboard",
    "RowsRefusedError",
    "Rules",
    "SeasonMovedError",
    "Submission",
]
