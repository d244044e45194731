"""Refusals of the engine and the services, as answers of the API."""

from __future__ import annotations

from config.redis.locks import LockTakenError
from config.web.outages import OUTAGES
from leaderboard.api.errors import ApiError
from leaderboard.api.limits import unavailable
from leaderboard.api.schemas import RowRefused
from leaderboard.engine import LeaderboardError
from leaderboard.errors import ServiceError

# One code for each kind of error, whichever layer notices it first.
SENT_AS = {
    **dict.fromkeys(
        (
            "empty_id",
            "id_too_long",
            "invalid_group",
            "invalid_id",
            "invalid_operator",
            "invalid_period",
            "invalid_place",
            "invalid_radius",
            "invalid_row",
            "invalid_text",
            "not_a_number",
            "not_exact",
            "not_finite",
            "too_large",
            "too_small",
        ),
        "invalid_value",
    ),
    "invalid_idempotency_key": "bad_idempotency_key",
    "season_moved": "season_closed",
}
# By code, where it is not 422.
_STATUS = {
    "bad_idempotency_key": 400,
    "unknown_player": 404,
    "player_banned": 403,
    "season_closed": 409,
    "season_overlap": 409,
    "unknown_season": 404,
    "rows_refused": 422,
}
# The API says `player` and `details` where the engine says `user_id` and `metadata`.
_FIELDS = {
    "user_id": "player",
    "metadata": "details",
    "metadata.country": "details.country",
    "user_ids": "players",
    "count": "limit",
}


def as_api_error(error: Exception, prefix: str = "") -> ApiError:
    """The refusal that a caller gets; anything unexpected is raised as it is."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, OUTAGES):
        return unavailable(error)
    if isinstance(error, LockTakenError):
        return ApiError(
            409,
            "board_busy",
            "Another change of this board's season is in progress. Try again in a moment.",
            headers={"Retry-After": "5"},
        )
    if isinstance(error, LeaderboardError | ServiceError):
        field = _FIELDS.get(error.field, error.field)
        path = f"{prefix}.{field}" if prefix and field else field or prefix
        code = SENT_AS.get(error.code, error.code)
        return ApiError(_STATUS.get(code, 422), code, str(error), field=path or None)
    raise error


def row_error(error: Exception, number: int) -> RowRefused:
    """One row's refusal inside a bulk answer."""
    refusal = as_api_error(error, str(number))
    return RowRefused(
        {
            "code": refusal.code,
            "detail": refusal.detail,
            "field": refusal.field,
            "row": number,
        }
    )
