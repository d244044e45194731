"""How people become players."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db import transaction

from leaderboard.models import Player


def ensure_player(*, user: User) -> Player:
    """The account's player, made when it has none: under an id of its own, never one that a game
    may have given to somebody else."""
    with transaction.atomic():
        # The account's row is the lock: two tabs at once make one player.
        User.objects.select_for_update().get(pk=user.pk)
        player = Player.objects.filter(account=user).first()
        if player is not None:
            return player
        player_id = f"account-{user.pk}"
        if Player.objects.filter(pk=player_id).exists():
            player_id = f"{player_id}-{secrets.token_hex(4)}"
        return Player.objects.create(
            pk=player_id, account=user, display_name=user.get_username()[:60]
        )


def enrol(*, players: Iterable[Player]) -> None:
    """Add people who have no score yet. Players who are known stay as they are."""
    Player.objects.bulk_create(players, ignore_conflicts=True)
