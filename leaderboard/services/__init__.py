"""What may happen to boards, seasons and players: every write goes through here."""

from leaderboard.errors import (
    NotOnBoardError,
    PlayerBannedError,
    SeasonClosedError,
    SeasonOverlapError,
    ServiceError,
    WouldLoseError,
)
from leaderboard.services.archives import rebuild_season
from leaderboard.services.audit import Actor
from leaderboard.services.boards import (
    change_board,
    create_board,
    delete_board,
    rebuild_board,
    reset_board,
)
from leaderboard.services.moderation import (
    ban_player,
    edit_score,
    hide_player,
    lift_restriction,
    remove_player,
    unhide_player,
)
from leaderboard.services.profiles import delete_player, update_profile
from leaderboard.services.scores import (
    ScoreResult,
    asubmit_score,
    asubmit_scores,
    aupdate_details,
    submit_score,
    submit_scores,
    update_details,
)
from leaderboard.services.seasons import close_season, closing_sentence, open_season

__all__ = [
    "Actor",
    "NotOnBoardError",
    "PlayerBannedError",
    "ScoreResult",
    "SeasonClosedError",
    "SeasonOverlapError",
    "ServiceError",
    "WouldLoseError",
    "asubmit_score",
    "asubmit_scores",
    "aupdate_details",
    "ban_player",
    "change_board",
    "close_season",
    "closing_sentence",
    "create_board",
    "delete_board",
    "delete_player",
    "edit_score",
    "hide_player",
    "lift_restriction",
    "open_season",
    "rebuild_board",
    "rebuild_season",
    "remove_player",
    "reset_board",
    "submit_score",
    "submit_scores",
    "unhide_player",
    "update_details",
    "update_profile",
]
