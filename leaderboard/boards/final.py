"""A board between two seasons: its last season is over, and its results are in SQL.

They are read after Redis: the keys of a season are dropped only when its archive is committed, so
one of the two always has the standings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from leaderboard.boards.standings import NEIGHBOURS, PER_PAGE, Mine, Slice, Standings
from leaderboard.entries import Entry
from leaderboard.models import Board, FinalStanding, Season
from leaderboard.seasons.history import entry_of, rows, season_page
from leaderboard.seasons.pointer import CLOSED


def is_over(found: Standings) -> bool:
    """Whether the season shown is closed and no other has begun."""
    return found.pointer is not None and found.pointer.state == CLOSED


def page(
    board: Board,
    found: Standings,
    *,
    number: int = 1,
    per_page: int = PER_PAGE,
    search: str = "",
    player_id: str | None = None,
) -> Standings:
    """`found` with a page of the final standings; unchanged until they are archived."""
    try:
        past = season_page(board, _number(found), page=number, per_page=per_page, search=search)
    except Season.DoesNotExist:
        return found
    mine = _mine(past.season, player_id) if player_id is not None else None
    return replace(found, page=Slice(past.total, [_entry(row) for row in past.rows]), mine=mine)


def some(board: Board, found: Standings, player_ids: Sequence[str]) -> Standings:
    """The same for given players."""
    season = _archived(board, found)
    if season is None:
        return found
    standings = season.standings.filter(player_id__in=player_ids).order_by("position")
    entries = [_entry(row) for row in rows(season, standings) if not row["masked"]]
    return replace(found, page=Slice(len(entries), entries))


def _number(found: Standings) -> int:
    return found.pointer.number if found.pointer is not None else 0


def _archived(board: Board, found: Standings) -> Season | None:
    return Season.objects.filter(
        board=board, number=_number(found), state=Season.State.CLOSED
    ).first()


def _mine(season: Season, player_id: str) -> Mine | None:
    mine = FinalStanding.objects.filter(season=season, player_id=player_id).first()
    if mine is None:
        return None
    first = max(1, min(mine.position - NEIGHBOURS // 2, season.entries - NEIGHBOURS + 1))
    nearby = season.standings.filter(position__gte=first, position__lt=first + NEIGHBOURS)
    around = [_entry(row) for row in rows(season, nearby.order_by("position"))]
    own = mine.position - first
    # Somebody who is not named to others still finds their own line.
    around[own] = structs.replace(around[own], player_id=player_id)
    return Mine(around[own], around, 100.0 * mine.position / season.entries, season.entries)


def _entry(row: dict[str, Any]) -> Entry:
    # Lines of those who are not named must differ too.
    player_id = row["player_id"] or f"#{row['position']}"
    return structs.replace(entry_of(row), player_id=player_id)
