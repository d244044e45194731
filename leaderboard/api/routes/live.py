"""The live stream: documented here, served by the fast lane."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from leaderboard.api import callers, live_schemas, queries, tickets
from leaderboard.api.errors import ApiError
from leaderboard.api.requests import board_for, caller_of, done, read

router = Router(tags=["Live"])

_EXAMPLE = """\
id: 4183
event: rows
data: {"at":"2026-11-16T12:00:00.000000Z","season":3,"state":"open",\
"size":2,"order":[["ada",1],["lin",2]],\
"rows":{"ada":{"player":"ada","rank":1,"previous_rank":2,"score":9120.0,"details":{"name":"Ada"}},\
"lin":{"player":"lin","rank":2,"previous_rank":1,"score":8740.0,"details":{"name":"Lin"}}}}

"""


@router.get(
    "/boards/{slug}/live",
    operation_id="watchBoard",
    auth=read,
    summary="Watch a board",
    openapi_extra={
        "parameters": [
            {
                "in": "header",
                "name": "Last-Event-ID",
                "required": False,
                "description": "The last sequence seen. The stream begins with what changed "
                "since, or with a snapshot.",
                "schema": {"type": "string"},
            }
        ],
        "responses": {
            200: {
                "description": "Server-sent events, until you disconnect.",
                "content": {
                    "text/event-stream": {
                        "schema": {
                            "type": "string",
                            "contentMediaType": "text/event-stream",
                            "contentSchema": {"$ref": "#/components/schemas/LiveEvent"},
                        },
                        "example": _EXAMPLE,
                    }
                },
            }
        },
    },
)
def watch_board(request: HttpRequest, slug: str, query: Query[queries.LiveQuery]) -> HttpResponse:
    """The first 50 entries, or the given players, as server-sent events with JSON data: each is
    a `LiveEvent`.

    `snapshot`, the first event, has every row. `rows` has the rows that changed in rank, score
    or details since the event before, each with its `previous_rank` (null for a new row).
    `season` is sent when another season begins, or when the running one has ended and none
    follows: then `state` is `closed`, and the rows are the final ones. All three have `order`
    (player and rank of all who are shown), `size` (the number of entries), `season` (its number)
    and `state` (`open`, `closed`, `paused` while the board is rebuilt, `planned` before the first
    season).

    Changes are combined: at most four events a second, each with the newest standings, so two
    scores of one player in between are sent as one. Each event's id is the board's sequence;
    send the last one back as `Last-Event-ID` to get what changed since, or a snapshot if that is
    too long ago.
    """
    board_for(request, slug)
    raise ApiError(501, "streams_need_asgi", "This server was started without live streams.")


@router.post(
    "/boards/{slug}/live/ticket",
    operation_id="createLiveTicket",
    openapi_extra=live_schemas.TICKET,
    auth=read,
    summary="Create a ticket for a stream",
)
def make_ticket(request: HttpRequest, slug: str) -> HttpResponse:
    """For web pages: a browser's `EventSource` cannot send a key, and no page should have one.
    Your server creates a ticket and gives it to the page, which opens `…/live?ticket=…` within a
    minute. The stream continues after that, and ends within five seconds if the key is revoked
    or may no longer read the board. It shows anonymous players by their aliases, not by the ids
    that the key can see. To reconnect later, create a new ticket."""
    board = board_for(request, slug)
    caller = caller_of(request)
    callers.check_scope(caller, callers.READ)
    assert caller.key_id is not None  # or it had no scope
    ticket = tickets.make(key_id=caller.key_id, slug=board.slug)
    return done(live_schemas.TicketOut(ticket, tickets.LIFETIME))
