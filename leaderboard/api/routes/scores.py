"""Submitting scores: documented here, served by the fast lane."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import Router

from leaderboard.api import schemas
from leaderboard.api.requests import submit
from leaderboard.api.served import by_the_lane
from leaderboard.fastlane import bodies, operations

router = Router(tags=["Scores"])

_row, _ = bodies.schemas()


@router.post(
    "/boards/{slug}/scores",
    response=schemas.Score,
    auth=submit,
    summary="Submit a score",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _row, "example": bodies.EXAMPLE}},
        }
    },
)
async def submit_score(request: HttpRequest, slug: str) -> HttpResponse:
    """Counts by the board's operator, or by the one given. The answer has the new rank."""
    return await by_the_lane(request, operations.submit_score, write=True)


@router.post(
    "/boards/{slug}/scores/bulk",
    response=schemas.Bulk,
    auth=submit,
    summary="Submit many scores",
    openapi_extra={
        "parameters": [
            {
                "in": "query",
                "name": "atomic",
                "required": False,
                "description": "All rows or none: one bad row refuses the whole.",
                "schema": {"type": "boolean", "default": False},
            }
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {
                        "type": "array",
                        "items": _row,
                        "minItems": 1,
                        "maxItems": bodies.MOST_ROWS,
                    },
                    "example": [bodies.EXAMPLE, {"player": "lin", "score": 8740}],
                },
                "application/x-ndjson": {
                    "schema": {"type": "string"},
                    "example": '{"player":"ada","score":9120}\n{"player":"lin","score":8740}\n',
                },
            },
        },
    },
)
async def submit_scores(request: HttpRequest, slug: str) -> HttpResponse:
    """Up to 10,000 rows as a JSON array or as lines of JSON, with a result for each, in order.

    Costs as much as one call for every 100 rows begun.
    """
    return await by_the_lane(request, operations.submit_scores, write=True)
