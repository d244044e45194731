"""What staff see under /admin/."""

from leaderboard.admin import api_keys, boards, people

__all__ = ["api_keys", "boards", "people"]
