"""Seasons: those that are over, and the end of the one that runs."""

# Annotations are not deferred here: Ninja reads them through `once`, from another module.

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from msgspec import structs
from ninja import Query, Router
from pydantic import Field

from config.times import utc_text
from leaderboard.api import queries, schemas
from leaderboard.api.errors import ApiError
from leaderboard.api.requests import (
    admin,
    board_for,
    caller_of,
    check_etag,
    done,
    once,
    read,
    shown,
)
from leaderboard.boards import changing
from leaderboard.closing import seasons
from leaderboard.entries import Entry
from leaderboard.models import Season
from leaderboard.seasons import history
from leaderboard.seasons.history import names_version

router = Router(tags=["Seasons"])


NOTHING_SAID = queries.CloseIn()


def _entries(rows: list[dict[str, Any]]) -> list[Entry]:
    """Details as they were archived: nothing but the id says who is not named."""
    return [structs.replace(history.entry_of(row), details=row["details"]) for row in rows]


def _check_etag(request: HttpRequest, *parts: Any) -> None:
    """Without the cache nobody knows whether the names are still the same: no validator then."""
    version = names_version()
    if version is not None:
        check_etag(request, version, *parts)


@router.get(
    "/boards/{slug}/seasons",
    operation_id="listSeasons",
    openapi_extra=schemas.SEASONS,
    auth=read,
    summary="List past seasons",
)
def list_seasons(request: HttpRequest, slug: str) -> HttpResponse:
    """Archived seasons with their podiums."""
    board = board_for(request, slug)
    seasons = history.season_list(board)
    newest = seasons[0]["number"] if seasons else 0
    _check_etag(request, "seasons", newest, len(seasons))
    listed = [
        schemas.PastSeason(
            season["number"],
            season["title"],
            utc_text(season["opens"]),
            season["closed_at"] and utc_text(season["closed_at"]),
            season["entries"],
            _entries(season["podium"]),
        )
        for season in seasons
    ]
    return shown(schemas.SeasonList(board.slug, listed))


@router.get(
    "/boards/{slug}/seasons/{number}/standings",
    operation_id="getStandings",
    openapi_extra=schemas.STANDINGS,
    auth=read,
    summary="Show the final standings of a season",
)
def season_standings(
    request: HttpRequest,
    slug: str,
    number: Annotated[int, Field(ge=1, le=2**31 - 1)],
    query: Query[queries.StandingsQuery],
) -> HttpResponse:
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
    return shown(
        schemas.Standings(
            board.slug,
            number,
            found.season.title,
            query.page,
            found.pages,
            found.total,
            _entries(found.rows) if query.page == found.page else [],
            query.page + 1 if query.page < found.pages else None,
        )
    )


@router.post(
    "/boards/{slug}/seasons/close",
    operation_id="closeSeason",
    openapi_extra=schemas.SEASON,
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
    closed_at = utc_text(season.closed_at) if season.closed_at else None
    return done(
        schemas.SeasonOut(season.number, season.title, season.state, closed_at, season.entries)
    )


@router.post(
    "/boards/{slug}/reset",
    operation_id="resetBoard",
    openapi_extra=schemas.DONE,
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
    return done(schemas.Done(True))
