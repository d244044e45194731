"""The admin site's pages of boards, players and API keys."""

from leaderboard.admin import api_keys, boards, people

__all__ = ["api_keys", "boards", "people"]
