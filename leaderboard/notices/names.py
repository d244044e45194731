"""Names of players for feeds and notices, which hold ids."""

from __future__ import annotations

from collections.abc import Collection

from leaderboard.access import rights
from leaderboard.models import Board, Player
from leaderboard.presentation import LONGEST_NAME


def shown_names(board: Board, player_ids: Collection[str]) -> dict[str, str]:
    """The names of those who are shown, by id; "" for anonymous players. SQL decides who is shown,
    because it changes first. A name on the board may be newer than the one in SQL."""
    if not player_ids:
        return {}
    unseen = set(rights.unseen_on(board).filter(pk__in=player_ids).values_list("pk", flat=True))
    here = {
        entry["user_id"]: entry["metadata"].get("name", "")
        for entry in board.engine().get_entries(player_ids)["entries"]
    }
    return {
        player.pk: ""
        if player.privacy == Player.Privacy.ANONYMOUS
        else (here.get(player.pk) or player.display_name or player.pk)[:LONGEST_NAME]
        for player in Player.objects.filter(pk__in=player_ids)
        if player.pk not in unseen
    }
