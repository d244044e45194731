"""Players, and the accounts behind them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.db.models import Q

from leaderboard.engine import LeaderboardError
from leaderboard.engine.values import checked_printable_id
from leaderboard.models import Player

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

MOST_FOUND = 50


def accounts_of(player_ids: Iterable[str]) -> dict[str, int]:
    """The account of each player who has one and wants to be seen."""
    rows = Player.objects.filter(
        id__in=list(player_ids), account__isnull=False, privacy=Player.Privacy.SHOWN
    )
    return {
        player_id: account for player_id, account in rows.values_list("id", "account_id") if account
    }


def player_id_of(user: User | AnonymousUser | None) -> str | None:
    """The player that this account plays as."""
    player: Player | None = getattr(user, "player", None)
    return None if player is None else player.id


def players_named(text: str) -> list[str]:
    """Ids of players whose name contains the text, or whose id it is. Names of those who do not
    want to be seen are not searched."""
    ids = [text] if can_be_id(text) else []
    named = Q(display_name__icontains=text, privacy=Player.Privacy.SHOWN)
    found = Player.objects.filter(named).values_list("id", flat=True)[:MOST_FOUND]
    return ids + [player_id for player_id in found if player_id != text]


def can_be_id(text: str) -> bool:
    """Whether a player could have this id; what comes from an address may be anything."""
    try:
        checked_printable_id(text)
    except LeaderboardError:
        return False
    return True
