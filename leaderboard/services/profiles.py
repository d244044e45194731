"""Profiles: SQL and the rows on every board, written through in one go."""

from __future__ import annotations

from typing import Any

from leaderboard.models import Board, Player
from leaderboard.models.player import ANONYMOUS
from leaderboard.selectors.history import forget_names
from leaderboard.services import moderation, scores

PROFILE_FIELDS = frozenset({"display_name", "country", "team", "avatar", "bio", "privacy"})


def update_profile(*, player: Player, **changes: Any) -> Player:
    """Change a profile and the rows on all boards at once. `ValidationError` for bad values."""
    unknown = set(changes) - PROFILE_FIELDS
    if unknown:
        raise TypeError(f"Not part of a profile: {', '.join(sorted(unknown))}")
    for name, value in changes.items():
        setattr(player, name, value)
    player.full_clean(exclude=["account"])
    player.save()
    write_through(player)
    if "privacy" in changes:
        forget_names()
    return player


def write_through(player: Player) -> None:
    """Bring the player's row on every board in line with SQL."""
    boards = list(Board.objects.all())
    details = row_details(player)
    for board in boards:
        scores.update_details(
            board=board, player_id=player.pk, details=details, source="profile", trusted=True
        )
    moderation.enforce(player.pk, boards)


def row_details(player: Player) -> dict[str, str]:
    """What stands beside the score. The anonymous keep their place, and nothing else."""
    if player.privacy == Player.Privacy.ANONYMOUS:
        return {"name": ANONYMOUS, "country": "", "team": "", "avatar": ""}
    return {
        "name": player.display_name or player.pk,
        "country": player.country,
        "team": player.team,
        "avatar": player.avatar,
    }
