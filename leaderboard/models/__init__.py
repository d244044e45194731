"""What is kept in SQL: boards, players, archives, the score log, moderation."""

from leaderboard.models.api_key import ApiKey
from leaderboard.models.board import Board
from leaderboard.models.event import ScoreEvent
from leaderboard.models.moderation import AuditEntry, Restriction
from leaderboard.models.player import Player
from leaderboard.models.season import FinalStanding, Season

__all__ = [
    "ApiKey",
    "AuditEntry",
    "Board",
    "FinalStanding",
    "Player",
    "Restriction",
    "ScoreEvent",
    "Season",
]
