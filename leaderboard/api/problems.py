"""Errors as the OpenAPI document describes them. `errors` raises them, `config.web.problems` writes
them."""

from __future__ import annotations

from typing import Literal

from ninja import Schema
from pydantic import ConfigDict, Field
from typing_extensions import TypeAliasType

# Every code that an answer of the API can have. A test compares them with what the code raises.
ErrorCode = TypeAliasType(
    "ErrorCode",
    Literal[
        # The request as a whole
        "bad_request",
        "body_too_large",
        "busy",
        "incomplete_body",
        "malformed_json",
        "method_not_allowed",
        "not_found",
        "rate_limited",
        "server_error",
        "unsupported_encoding",
        "unsupported_media_type",
        # Who asks
        "board_not_allowed",
        "key_expired",
        "key_malformed",
        "key_required",
        "key_revoked",
        "key_stopped",
        "key_unknown",
        "scope_missing",
        "ticket_expired",
        "ticket_unknown",
        # Idempotency-Key
        "bad_idempotency_key",
        "idempotency_key_reused",
        "request_under_way",
        # What was sent
        "details_too_large",
        "duplicate_field",
        "invalid_value",
        "missing_field",
        "no_rows",
        "no_subscore",
        "row_too_large",
        "rows_refused",
        "score_overflow",
        "score_too_high",
        "score_too_low",
        "step_too_large",
        "too_many_details",
        "too_many_parameters",
        "too_many_rows",
        "unknown_field",
        # The board as it is now
        "board_busy",
        "board_not_found",
        "nearby_is_off",
        "player_banned",
        "refused",
        "season_closed",
        "season_overlap",
        "streams_need_asgi",
        "unknown_group",
        "unknown_player",
        "unknown_season",
        "unknown_window",
        # Outages
        "database_unavailable",
        "not_replicated",
        "redis_unavailable",
        "wrong_type",
    ],
)


class RowError(Schema):
    """Why one row of many was refused. `field` begins with the row's number too."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "code": "invalid_value",
                "detail": "Expected `float`.",
                "field": "3.score",
                "row": 3,
            }
        }
    )
    code: ErrorCode
    detail: str
    field: str | None = None
    row: int = Field(description="Which row, counted from 0; blank lines do not count.")


class Problem(Schema):
    """Every error, as application/problem+json (RFC 9457). `code` is stable, `detail` is for
    people, `field` is the part of the request with the error."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "type": "about:blank",
                "title": "Unprocessable Entity",
                "status": 422,
                "code": "invalid_value",
                "detail": "Expected `float`, got `str`.",
                "field": "score",
            }
        }
    )
    type: str = Field(description="`about:blank`, or the address of the problem type of a 429.")
    title: str
    status: int
    code: ErrorCode
    detail: str
    field: str | None = None
    errors: list[RowError] | None = Field(
        default=None, description="With `rows_refused`: the first 100 rows with errors."
    )
    retry_after: int | None = Field(
        default=None, description="With `rate_limited`: seconds to wait, as in `Retry-After`."
    )
    violated_policies: list[str] | None = Field(
        default=None,
        alias="violated-policies",
        description="With `rate_limited`: the limits that were reached, as in `RateLimit`.",
    )
