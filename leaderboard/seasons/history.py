"""Past seasons, from SQL behind a cache. They can be read while Redis is away.

Players of `rights.unnamed_on`, and deleted players, are not named here.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.cache import cache
from django.db.models import Max, Q, QuerySet
from msgspec import UNSET

from config.caching import cached_or_computed
from config.redis.connections import OUTAGE_ERRORS
from leaderboard import keys
from leaderboard.access import erasing, rights
from leaderboard.entries import Entry, UnnamedEntry
from leaderboard.models import Board, FinalStanding, ScoreEvent, Season
from leaderboard.models.player import ANONYMOUS
from leaderboard.models.season import season_title

# A closed season does not change; the list is dropped when another closes.
PAGE_TTL = 3600
LIST_TTL = 3600
SEARCH_TTL = 60  # anyone can make up searches, and they must not fill the cache
PODIUM = 3
MAX_SEARCH = 100


@dataclass(frozen=True)
class SeasonPage:
    """One page of final standings. `rows` are dicts: position, rank, player_id, name, score,
    subscore, details, and `masked` when the player must not be named."""

    season: Season
    rows: list[dict[str, Any]]
    podium: list[dict[str, Any]]
    page: int
    pages: int
    total: int


def season_list(board: Board) -> list[dict[str, Any]]:
    """Archived seasons, newest first, each with its podium."""
    result: list[dict[str, Any]] = cached_or_computed(
        f"seasons:{board.pk}",
        lambda: _list_key(board.pk),
        LIST_TTL,
        lambda: _load_seasons(board),
    )
    return [season | _times(season) | {"title": _title(season)} for season in result]


def forget_season_list(board_id: int) -> None:
    """Called when a season was archived, renamed or deleted. It changes the key instead of deleting
    it, because a reader at this moment would put the old list back."""
    cache.set(keys.cached_list_version(board_id), time.time_ns(), None)


def forget_names() -> None:
    """Called when a player's choice to be named changed: every page is loaded again."""
    cache.set(keys.cached_names(), time.time_ns(), None)


def names_version() -> int | None:
    """A number that changes with who is named, for validators; None while the cache is away."""
    try:
        return _names_version()
    except OUTAGE_ERRORS:
        return None


def _names_version() -> int:
    return cache.get(keys.cached_names()) or 0


def _list_key(board_id: int) -> str:
    version = f"{_names_version()}:{cache.get(keys.cached_list_version(board_id)) or 0}"
    return keys.cached_season_list(board_id, version)


def _times(season: dict[str, Any]) -> dict[str, Any]:
    return {
        name: season[name] and datetime.fromisoformat(season[name])
        for name in ("opens", "closed_at")
    }


def _title(season: dict[str, Any]) -> str:
    """Made here, not in the cache, because readers differ in language."""
    # Lists that an older release has cached have no period.
    return season_title(season["name"], season.get("period", ""), season["number"])


def _load_seasons(board: Board) -> list[dict[str, Any]]:
    podiums: dict[int, list[dict[str, Any]]] = {}
    standings = FinalStanding.objects.filter(
        season__board=board, season__state=Season.State.CLOSED, position__lte=PODIUM
    ).order_by("season_id", "position")
    masked = _masked(board, standings)
    for standing in standings:
        podiums.setdefault(standing.season_id, []).append(_row(standing, masked))
    return [
        {
            "number": season.number,
            "name": season.name,
            "period": season.period,
            "opens": season.opens.isoformat(),
            "closed_at": season.closed_at.isoformat() if season.closed_at else None,
            "entries": season.entries,
            "podium": podiums.get(season.pk, []),
        }
        for season in Season.objects.filter(board=board, state=Season.State.CLOSED).order_by(
            "-number"
        )
    ]


def season_page(
    board: Board, number: int, *, page: int = 1, per_page: int = 50, search: str = ""
) -> SeasonPage:
    """A page of an archived season. `Season.DoesNotExist` when it is not archived (yet).

    A page beyond the end is the last one; a search looks at names and ids.
    """
    season = Season.objects.select_related("board").get(
        board=board, number=number, state=Season.State.CLOSED
    )
    search = search.strip()[:MAX_SEARCH]
    page = min(max(1, page), _pages(season.entries, per_page))
    place = f"{page}:{per_page}:{search.encode().hex()}"
    found = cached_or_computed(
        f"season:{season.pk}:{place}",
        lambda: keys.cached_season_page(season.pk, str(_names_version()), place),
        SEARCH_TTL if search else PAGE_TTL,
        lambda: _load_page(season, page, per_page, search),
    )
    return SeasonPage(season=season, **found)


def _load_page(season: Season, page: int, per_page: int, search: str) -> dict[str, Any]:
    standings = season_standings(season, search)
    total = standings.count() if search else season.entries
    pages = _pages(total, per_page)
    page = min(page, pages)
    first = (page - 1) * per_page
    if search:
        rows = standings[first : first + per_page]
    else:
        # By position, so that a late page costs as much as the first.
        rows = standings.filter(position__gt=first, position__lte=first + per_page)
    podium = season.standings.filter(position__lte=PODIUM).order_by("position")
    masked = _masked(season.board, [*rows, *podium])
    return {
        "rows": [_row(standing, masked) for standing in rows],
        "podium": [_row(standing, masked) for standing in podium],
        "page": page,
        "pages": pages,
        "total": total,
    }


def _pages(total: int, per_page: int) -> int:
    return max(1, -(-total // per_page))


def season_standings(season: Season, search: str = "") -> QuerySet[FinalStanding]:
    """All final standings in order, or those whose name or id contains `search`."""
    standings = season.standings.order_by("position")
    if search:
        unnamed = rights.unnamed_on(season.board).values("pk")
        standings = standings.filter(Q(name__icontains=search) | Q(player_id=search)).exclude(
            Q(player_id__in=unnamed) | erasing.ERASED
        )
    return standings


def player_seasons(player_id: str, board: Board | None = None) -> list[FinalStanding]:
    """A player's final standings, newest season first, on one board or on all public ones."""
    standings = (
        FinalStanding.objects.filter(player_id=player_id, season__state=Season.State.CLOSED)
        .exclude(erasing.ERASED)
        .select_related("season__board")
    )
    if board is not None:
        standings = standings.filter(season__board=board)
    else:
        standings = standings.filter(season__board__visibility=Board.Visibility.PUBLIC)
    return list(standings.order_by("-season__closed_at")[:100])


def history(
    board: Board, player_id: str, *, season: int | None = None, limit: int = 500
) -> list[ScoreEvent]:
    """A player's latest stored scores, oldest first, for a plot; only those since the player was
    last removed from the board."""
    events = ScoreEvent.objects.filter(board=board, player_id=player_id)
    removed = events.filter(op="remove").aggregate(Max("sequence"))["sequence__max"]
    events = events.filter(op="score")
    if removed is not None:
        events = events.filter(sequence__gt=removed)
    if season is not None:
        events = events.filter(season=season)
    return list(events.order_by("-sequence")[:limit])[::-1]


def masked_players(season: Season) -> set[str]:
    """The ids of everyone in a season who must not be named."""
    unnamed = rights.unnamed_on(season.board).values("pk")
    found = season.standings.filter(Q(player_id__in=unnamed) | erasing.ERASED)
    return set(found.values_list("player_id", flat=True))


def _masked(board: Board, standings: Iterable[FinalStanding]) -> set[str]:
    found = rights.unnamed_on(board).filter(pk__in=[standing.player_id for standing in standings])
    return set(found.values_list("pk", flat=True))


def rows(season: Season, standings: Iterable[FinalStanding]) -> list[dict[str, Any]]:
    """These standings of a season as `SeasonPage` has them."""
    found = list(standings)
    masked = _masked(season.board, found)
    return [_row(standing, masked) for standing in found]


def entry_of(row: dict[str, Any]) -> Entry:
    """A row of a `SeasonPage` as an entry."""
    return (UnnamedEntry if row["masked"] else Entry)(
        row["rank"],
        row["player_id"],
        row["score"],
        row["details"] | {"name": row["name"]},
        UNSET if row["subscore"] is None else row["subscore"],
    )


def _row(standing: FinalStanding, masked: set[str]) -> dict[str, Any]:
    hidden = standing.player_id in masked or erasing.is_erased(standing)
    return {
        "position": standing.position,
        "rank": standing.rank,
        "player_id": "" if hidden else standing.player_id,
        "name": ANONYMOUS if hidden else standing.name,
        "score": standing.score,
        "subscore": standing.subscore,
        "details": {} if hidden else standing.details,
        "masked": hidden,
    }
