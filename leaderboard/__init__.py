"""Live season leaderboards. The engine works on its own, without Django's settings."""

from leaderboard.engine import AsyncRedisLeaderboard, RedisLeaderboard

__all__ = ["AsyncRedisLeaderboard", "RedisLeaderboard"]
