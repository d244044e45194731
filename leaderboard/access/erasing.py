"""Final standings of deleted players: place and score stay, name and details are erased.

Who is not named there otherwise follows from the player's record and restrictions, which go with
the player. The id stays, for staff and for a comparison with the score log; others never see it.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet

from leaderboard.access.aliases import ALIAS
from leaderboard.models import AuditEntry, FinalStanding, Player, Season

DELETED = "player.delete"  # as the audit log calls it
# Details from outside cannot have this name, so nobody can give themselves the mark.
_MARK = {ALIAS: "deleted"}
ERASED = Q(details__has_key=ALIAS)


def is_erased(standing: FinalStanding) -> bool:
    return ALIAS in standing.details


def shown_details(standing: FinalStanding) -> dict[str, Any]:
    """The details without the mark."""
    return {} if is_erased(standing) else standing.details


def erase(player_id: str) -> int:
    """Unname a player in every past season; returns in how many."""
    return _erase(FinalStanding.objects.filter(player_id=player_id))


def erase_deleted(season: Season) -> None:
    """The same for a season that was just written, from Redis or from its log, which both still
    have the details: for everyone deleted since it ended, and for those deleted while it ran who
    have not come back."""
    entries = AuditEntry.objects.filter(action=DELETED, at__gte=season.opens)
    deleted = dict(entries.order_by("at").values_list("player_id", "at"))
    back = set(Player.objects.filter(pk__in=deleted).values_list("pk", flat=True))
    for player_id, at in deleted.items():
        if player_id not in back or (season.closed_at is not None and at >= season.closed_at):
            _erase(season.standings.filter(player_id=player_id))


def _erase(standings: QuerySet[FinalStanding]) -> int:
    return standings.update(name="", details=_MARK)
