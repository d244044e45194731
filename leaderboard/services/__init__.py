"""What may happen to boards, seasons and players: every write goes through here."""

from leaderboard.services.audit import Actor
from leaderboard.services.boards import create_board
from leaderboard.services.errors import (
    NotOnBoardError,
    PlayerBannedError,
    SeasonClosedError,
    SeasonOverlapError,
    ServiceError,
)
from leaderboard.services.moderation import (
    ban_player,
    edit_score,
    hide_player,
    lift_restriction,
    remove_player,
    unhide_player,
)
from leaderboard.services.profiles import update_profile
from leaderboard.services.scores import (
    ScoreResult,
    asubmit_score,
    asubmit_scores,
    aupdate_details,
    submit_score,
    submit_scores,
    update_details,
)
from leaderboard.services.seasons import close_season, open_season

__all__ = [
    "Actor",
    "NotOnBoardError",
    "PlayerBannedError",
    "ScoreResult",
    "SeasonClosedError",
    "SeasonOverlapError",
    "ServiceError",
    "asubmit_score",
    "asubmit_scores",
    "aupdate_details",
    "ban_player",
    "close_season",
    "create_board",
    "edit_score",
    "hide_player",
    "lift_restriction",
    "open_season",
    "remove_player",
    "submit_score",
    "submit_scores",
    "unhide_player",
    "update_details",
    "update_profile",
]
