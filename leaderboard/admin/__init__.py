"""What staff see under /admin/."""

from leaderboard.admin import api_keys

__all__ = ["api_keys"]
