"""The live stream: documented here, served by the fast lane."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from leaderboard.api import queries
from leaderboard.api.errors import ApiError
from leaderboard.api.requests import board_for, read

router = Router(tags=["Live"])

_EXAMPLE = """\
id: 4183
event: rows
data: {"at":"2026-11-16T12:00:00.000+00:00","size":2,"order":[["ada",1],["lin",2]],\
"rows":{"ada":{"player":"ada","rank":1,"score":9120.0,"details":{"name":"Ada"}}}}

"""


@router.get(
    "/boards/{slug}/live",
    auth=read,
    summary="Watch a board",
    openapi_extra={
        "parameters": [
            {
                "in": "header",
                "name": "Last-Event-ID",
                "required": False,
                "description": "The sequence seen last: what changed since, or a snapshot.",
                "schema": {"type": "string"},
            }
        ],
        "responses": {
            # A number, as Ninja writes it: as text it would stand in the document twice.
            200: {
                "description": "Server-sent events, until you leave.",
                "content": {
                    "text/event-stream": {"schema": {"type": "string"}, "example": _EXAMPLE}
                },
            }
        },
    },
)
def watch_board(request: HttpRequest, slug: str, query: Query[queries.LiveQuery]) -> HttpResponse:
    """The top of the board as server-sent events with JSON data, at most four a second.

    `snapshot` has every entry, `rows` those that changed and, when it changed, the new order;
    `season` says that another season began. Each event's id is the board's sequence.
    """
    board_for(request, slug)
    raise ApiError(501, "streams_need_asgi", "This server was started without live streams.")
