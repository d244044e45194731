"""Errors of the engine and the services in the reader's language, found by their code.

Their own messages are for programs too, and are not translated.
"""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from leaderboard.engine import LeaderboardError
from leaderboard.errors import ServiceError

_TEXTS = {
    "score_too_low": _("The score is below the lowest that this board accepts."),
    "score_too_high": _("The score is above the highest that this board accepts."),
    "step_too_large": _("The score changes by more than this board accepts at once."),
    "score_overflow": _("The sum is too large."),
    "not_finite": _("The score must be a finite number."),
    "not_exact": _("The score is too large to be stored exactly."),
    "too_many_details": _("A player can have at most 32 details."),
    "details_too_large": _("A player's details can use at most 4096 bytes."),
    "unknown_player": _("This player is not on the board."),
    "player_banned": _("This player is banned from the board."),
    "season_closed": _("No season is open at the moment."),
    "season_moved": _("No season is open at the moment."),
}


def refusal_text(error: LeaderboardError | ServiceError) -> str:
    return str(_TEXTS.get(error.code, error))
