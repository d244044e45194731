"""Profiles: SQL and the rows on every board, written through in one go."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from config.redis import get_redis
from leaderboard import keys, nearby
from leaderboard.models import Board, Player
from leaderboard.models.player import ANONYMOUS
from leaderboard.selectors.history import forget_names
from leaderboard.services import audit, marks, moderation, scores
from leaderboard.services.audit import Actor

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


def delete_player(*, player: Player, actor: Actor) -> None:
    """Off every board, with profile, place and restrictions. Past seasons keep what they were."""
    player_id = player.pk
    audit.record("player.delete", actor=actor, player_id=player_id)
    player.delete()
    transaction.on_commit(lambda: _forget(player_id))


def _forget(player_id: str) -> None:
    for board in Board.objects.all():
        board.engine().delete_user(player_id, source="profile")
        get_redis().hdel(keys.marks(board.key), player_id)
        marks.forget(board)
        nearby.forget(board, player_id)
    forget_names()


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
