"""Seasons: those that are over, and the end of the one that runs."""

# Annotations are not deferred here: Ninja reads them through `once`, from another module.

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import Field

from config.times import utc_text
from leaderboard.api import queries, schemas
from leaderboard.api.errors import ApiError
from leaderboard.api.requests import admin, board_for, caller_of, check_etag, once, read, reply
from leaderboard.boards import changing
from leaderboard.closing import seasons
from leaderboard.models import Season
from leaderboard.seasons import history
from leaderboard.seasons.history import names_version

router = Router(tags=["Seasons"])


NOTHING_SAID = queries.CloseIn()


def _standing(row: dict[str, Any]) -> dict[str, Any]:
    entry = {name: row[name] for name in ("rank", "score", "details")}
    entry["player"] = row["player_id"]
    if row["subscore"] is not None:
        entry["subscore"] = row["subscore"]
    return entry


def _check_etag(request: HttpRequest, *parts: Any) -> None:
    """Without the cache nobody knows whether the names are still the same: no validator then."""
    version = names_version()
    if version is not None:
        check_etag(request, version, *parts)


@router.get(
    "/boards/{slug}/seasons",
    operation_id="listSeasons",
    response=schemas.SeasonList,
    auth=read,
    summary="List past seasons",
)
def list_seasons(request: HttpRequest, slug: str) -> dict[str, Any]:
    """Archived seasons with their podiums."""
    board = board_for(request, slug)
    seasons = history.season_list(board)
    newest = seasons[0]["number"] if seasons else 0
    _check_etag(request, "seasons", newest, len(seasons))
    return {
        "board": board.slug,
        "seasons": [
            season
            | {"name": season["title"], "podium": [_standing(row) for row in season["podium"]]}
            for season in seasons
        ],
    }


@router.get(
    "/boards/{slug}/seasons/{number}/standings",
    operation_id="getStandings",
    response=schemas.Standings,
    auth=read,
    summary="Show the final standings of a season",
)
def season_standings(
    request: HttpRequest,
    slug: str,
    number: Annotated[int, Field(ge=1, le=2**31 - 1)],
    query: Query[queries.StandingsQuery],
) -> dict[str, Any]:
    """Final standings do not change. `next` is the number of the next page; a page beyond the
    end is empty."""
    board = board_for(request, slug)
    try:
        found = history.season_page(board, number, page=query.page, per_page=query.limit)
    except Season.DoesNotExist:
        raise ApiError(404, "unknown_season", "There is no such past season.") from None
    closed = found.season.closed_at
    closed_at = closed.timestamp() if closed else 0
    _check_etag(request, "season", number, closed_at, found.total)
    return {
        "board": board.slug,
        "season": number,
        "name": found.season.title,
        "page": query.page,
        "pages": found.pages,
        "total": found.total,
        "entries": [_standing(row) for row in found.rows] if query.page == found.page else [],
        "next": query.page + 1 if query.page < found.pages else None,
    }


@router.post(
    "/boards/{slug}/seasons/close",
    operation_id="closeSeason",
    response=schemas.SeasonOut,
    auth=admin,
    summary="Close the running season",
)
@once(admin)
def close_season(
    request: HttpRequest, slug: str, body: queries.CloseIn = NOTHING_SAID
) -> HttpResponse:
    """Archives the season and responds when the final standings are stored. The body can be
    empty."""
    season = seasons.close_season(
        board=board_for(request, slug, admin),
        actor=caller_of(request).actor,
        open_next=body.open_next,
        number=body.season,
    )
    return reply(
        {
            "number": season.number,
            "name": season.title,
            "state": season.state,
            "closed_at": season.closed_at and utc_text(season.closed_at),
            "entries": season.entries,
        }
    )


@router.post(
    "/boards/{slug}/reset",
    operation_id="resetBoard",
    response=schemas.Done,
    auth=admin,
    summary="Empty the running season",
)
@once(admin)
def reset_board(request: HttpRequest, slug: str) -> HttpResponse:
    """Removes everyone from the board and its windows. Past seasons stay."""
    changing.reset_board(
        board=board_for(request, slug, admin),
        actor=caller_of(request).actor,
        season_only=True,
    )
    return reply({"done": True})
