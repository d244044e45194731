"""Submitting scores: documented here, served by the fast lane."""

from __future__ import annotations

from django.http import HttpRequest
from ninja import Query, Router

from leaderboard.api import queries, schemas
from leaderboard.api.hot import bodies
from leaderboard.api.requests import submit

router = Router(tags=["Scores"])

_row, _ = bodies.schemas()


@router.post(
    "/boards/{slug}/scores",
    operation_id="submitScore",
    auth=submit,
    summary="Submit a score",
    openapi_extra=schemas.SCORE_RESULT
    | {
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _row, "example": bodies.EXAMPLE}},
        }
    },
)
def submit_score(request: HttpRequest, slug: str) -> None:
    """Uses the board's operator, or the given one. The response has the new rank."""


@router.post(
    "/boards/{slug}/scores/bulk",
    operation_id="submitScores",
    auth=submit,
    summary="Submit many scores",
    openapi_extra=schemas.BULK
    | {
        "requestBody": {
            "required": True,
            # JSON alone: generators of clients drop an operation that also takes lines.
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
            },
        },
    },
)
def submit_scores(request: HttpRequest, slug: str, query: Query[queries.BulkQuery]) -> None:
    """Up to 10,000 rows, with a result for each, in order: a JSON array, or one object per line
    with the content type `application/x-ndjson`.

    Counts as one request for every 100 rows or part of them.
    """
