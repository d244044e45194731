"""Players near a place."""

# Annotations are not deferred here: Ninja reads them through `once`, from another module.

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from config.times import utc_text
from leaderboard.api import queries, schemas
from leaderboard.api.errors import ApiError
from leaderboard.api.requests import board_for, caller_of, done, named, once, read, shown, submit
from leaderboard.boards import nearby
from sessions_app.flags import flag_enabled

router = Router(tags=["Nearby"])


def _check_flag(request: HttpRequest) -> None:
    if not flag_enabled("nearby", request):
        raise ApiError(404, "nearby_is_off", "Players nearby are switched off on this site.")


@router.put(
    "/boards/{slug}/players/{player}/location",
    operation_id="shareLocation",
    openapi_extra=schemas.LOCATION,
    auth=submit,
    summary="Share a player's location",
)
@once(submit)
def share_place(
    request: HttpRequest, slug: str, player: str, body: queries.LocationIn
) -> HttpResponse:
    """Only with the player's consent. The location is rounded to about a kilometre and kept for
    30 days."""
    _check_flag(request)
    board = board_for(request, slug, submit)
    place = nearby.share(board, named(request, player), body.lat, body.lon)
    expires = utc_text(place.expires)
    return done(schemas.LocationOut(place.player_id, place.lat, place.lon, expires))


@router.delete(
    "/boards/{slug}/players/{player}/location",
    operation_id="forgetLocation",
    openapi_extra=schemas.REMOVED,
    auth=submit,
    summary="Delete a player's location",
)
@once(submit)
def forget_place(request: HttpRequest, slug: str, player: str) -> HttpResponse:
    """`removed` is false if there was none."""
    board = board_for(request, slug, submit)
    return done(schemas.Removed(nearby.forget(board, named(request, player))))


@router.get(
    "/boards/{slug}/nearby",
    operation_id="listPlayersNearby",
    openapi_extra=schemas.NEARBY,
    auth=read,
    summary="List players near a location",
)
def players_nearby(
    request: HttpRequest, slug: str, query: Query[queries.NearbyQuery]
) -> HttpResponse:
    """Players who shared a location within the radius, nearest or best first."""
    _check_flag(request)
    board = board_for(request, slug)
    found = nearby.find(
        board,
        query.lat,
        query.lon,
        radius=query.radius,
        unit=query.unit,
        by=query.by,
        limit=query.limit,
        with_ids=caller_of(request).knows_ids(board),
    )
    return shown(schemas.Nearby(board.slug, query.unit, found))
