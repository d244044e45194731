"""One player of a board."""

# Annotations are not deferred here: Ninja reads them through `once`, from another module.

from django.http import HttpRequest, HttpResponse
from msgspec import UNSET
from ninja import Query, Router

from config.times import utc_text
from leaderboard.access import aliases, people
from leaderboard.api import queries, schemas
from leaderboard.api.hot.reads import player_not_found
from leaderboard.api.requests import (
    board_for,
    caller_of,
    done,
    moderate,
    named,
    once,
    read,
    shown,
    submit,
)
from leaderboard.boards import moderation, scores
from leaderboard.seasons import history, pointer
from leaderboard.seasons.pointer import moment

router = Router(tags=["Players"])


@router.get(
    "/boards/{slug}/players/{player}/history",
    operation_id="getPlayerHistory",
    openapi_extra=schemas.HISTORY,
    auth=read,
    summary="List a player's scores",
)
def player_history(
    request: HttpRequest, slug: str, player: str, query: Query[queries.HistoryQuery]
) -> HttpResponse:
    """The latest stored submissions, oldest first. For an alias, only those of the running
    season: past seasons do not name anonymous players."""
    board, player = board_for(request, slug), named(request, player)
    with_ids = caller_of(request).knows_ids(board)
    found = people.find_shown(board, player, with_ids=with_ids)
    if found is None:
        raise player_not_found()
    events = history.history(board, found, season=query.season, limit=query.limit)
    if found != player:  # asked for by an alias
        running = pointer.read(board)
        events = [event for event in events if running and event.season == running.number]
    listed = [
        schemas.HistoryEvent(
            utc_text(moment(event.at)),
            event.season,
            event.value,
            event.operator,
            event.score,
            event.rank,
        )
        for event in events
    ]
    return shown(schemas.History(board.slug, player, listed))


@router.get(
    "/boards/{slug}/players/{player}",
    operation_id="getPlayer",
    openapi_extra=schemas.PLAYER,
    auth=read,
    summary="Show a player",
)
def show_player(
    request: HttpRequest, slug: str, player: str, query: Query[queries.PlayerQuery]
) -> None:
    """Entry, percentile, and the neighbours above and below."""


@router.patch(
    "/boards/{slug}/players/{player}",
    operation_id="updatePlayerDetails",
    openapi_extra=schemas.PLAYER_ENTRY,
    auth=submit,
    summary="Change a player's details",
)
@once(submit)
def change_details(
    request: HttpRequest, slug: str, player: str, body: queries.DetailsIn
) -> HttpResponse:
    """Adds or replaces the given details and removes those that are null; the score does not
    change."""
    result = scores.update_details(
        board=board_for(request, slug, submit),
        player_id=named(request, player),
        details=body.details,
        source=caller_of(request).source,
    )
    if result is None:
        raise player_not_found()
    details = aliases.MASKED if aliases.ALIAS in result["metadata"] else result["metadata"]
    return done(
        schemas.PlayerEntry(
            result["rank"],
            result["user_id"],
            result["score"],
            details,
            result.get("subscore", UNSET),
        )
    )


@router.delete(
    "/boards/{slug}/players/{player}",
    operation_id="removePlayer",
    openapi_extra=schemas.REMOVED,
    auth=moderate,
    summary="Remove a player",
)
@once(moderate)
def remove_player(request: HttpRequest, slug: str, player: str) -> HttpResponse:
    """Removes the player from the season and every window, with the details."""
    moderation.remove_player(
        board=board_for(request, slug, moderate),
        player_id=named(request, player),
        reason="Removed through the API.",
        actor=caller_of(request).actor,
    )
    return done(schemas.Removed(True))
