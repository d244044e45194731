"""Players, and the accounts behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from django.db.models import Q

from leaderboard.access import aliases, erasing, rights
from leaderboard.engine import LeaderboardError
from leaderboard.engine.values import checked_printable_id
from leaderboard.models import Board, FinalStanding, Player, Season
from leaderboard.models.player import ANONYMOUS

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


def name_of(board: Board, player_id: str) -> str:
    """How staff call a player: by name, and by the id where there is none."""
    player = Player.objects.filter(pk=player_id).first()
    if player is not None and player.display_name:
        return player.display_name
    details = board.engine().get_user_metadata(player_id) or {}
    return player_id if aliases.ALIAS in details else details.get("name") or player_id


def shown_names(player_ids: Sequence[str]) -> list[str]:
    """How a page calls these players, on the board or not: by name if they have one and want it."""
    players = Player.objects.in_bulk(player_ids)
    return [
        ANONYMOUS
        if (player := players.get(player_id)) and player.privacy == Player.Privacy.ANONYMOUS
        else str(player or player_id)
        for player_id in player_ids
    ]


def find_shown(board: Board, name: str, *, with_ids: bool = False) -> str | None:
    """The id of a player whose page or scores somebody asks for; None when there is nobody to be
    shown under this name: hidden or banned, opted out, anonymous and asked for by id, removed from
    the board, or never there."""
    behind = None if with_ids else aliases.find(board, name)
    player_id = behind or name
    player = Player.objects.filter(pk=player_id).first()
    anonymous = player is not None and player.privacy == Player.Privacy.ANONYMOUS
    if anonymous and behind is None and not with_ids:
        return None
    if rights.unseen_on(board).filter(pk=player_id).exists():
        return None
    return player_id if _is_or_was_on(board, player_id, past=not anonymous or with_ids) else None


def _is_or_was_on(board: Board, player_id: str, *, past: bool) -> bool:
    """In the running season, in a window of now, or, unless masked there, in a past season."""
    engine = board.engine()
    views = [engine, *(engine.window(name) for name in board.windows)]
    if any(view.get_rank(player_id) is not None for view in views):
        return True
    archived = FinalStanding.objects.filter(player_id=player_id, season__board=board)
    closed = archived.filter(season__state=Season.State.CLOSED)
    return past and closed.exclude(erasing.ERASED).exists()


def can_be_id(text: str) -> bool:
    """Whether a player could have this id; what comes from an address may be anything."""
    try:
        checked_printable_id(text)
    except LeaderboardError:
        return False
    return True
