"""The errors of services, under the name by which callers know them."""

from leaderboard.errors import (
    NotOnBoardError,
    PlayerBannedError,
    SeasonClosedError,
    SeasonOverlapError,
    ServiceError,
    UnknownSeasonError,
    WouldLoseError,
)

__all__ = [
    "NotOnBoardError",
    "PlayerBannedError",
    "SeasonClosedError",
    "SeasonOverlapError",
    "ServiceError",
    "UnknownSeasonError",
    "WouldLoseError",
]
