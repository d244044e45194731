"""What services refuse, in words a person understands and a code a program can use."""

from __future__ import annotations


class ServiceError(Exception):
    """A request that makes no sense now; nothing was changed."""

    code = "refused"

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class SeasonClosedError(ServiceError):
    """The board has no open season, so nothing can be submitted or closed."""

    code = "season_closed"


class UnknownSeasonError(ServiceError):
    """The board has no season of this number."""

    code = "unknown_season"


class SeasonOverlapError(ServiceError):
    """Two seasons of one board would run at the same time."""

    code = "season_overlap"


class PlayerBannedError(ServiceError):
    """The player is banned from this board."""

    code = "player_banned"


class NotOnBoardError(ServiceError):
    """The player has no entry on this board."""

    code = "unknown_player"


class WouldLoseError(ServiceError):
    """A rebuild would lose entries that the score log does not have."""

    code = "would_lose"
