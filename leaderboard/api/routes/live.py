"""The live stream: documented here, served by the fast lane."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from leaderboard.api import callers, live_schemas, queries, tickets
from leaderboard.api.errors import ApiError
from leaderboard.api.requests import board_for, caller_of, read, reply

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
                "description": "The sequence seen last: what changed since, or a snapshot.",
                "schema": {"type": "string"},
            }
        ],
        "responses": {
            # A number, as Ninja writes it: as text it would stand in the document twice.
            200: {
                "description": "Server-sent events, until you leave.",
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
    """The first 50 entries, or the players named, as server-sent events with JSON data: each is a
    `LiveEvent`.

    `snapshot`, the first event, has every row. `rows` has those whose rank, score or details have
    changed since the event before, each with its `previous_rank` (null for one that was not there).
    `season` says that another season began, or that the running one has ended and none follows:
    `state` is `closed` then, and the rows are the final ones. All three have `order` (player and
    rank of all who are shown), `size` (the number of entries), `season` (its number) and `state`
    (`open`, `closed`, `paused` while the board is rebuilt, `planned` before the first season).

    Changes are gathered: at most four events a second, each with the newest standings, so that two
    scores of one player in between are told as one. Each event's id is the board's sequence; send
    the last one back as `Last-Event-ID` to get what changed since, or a snapshot when that is too
    long ago.
    """
    board_for(request, slug)
    raise ApiError(501, "streams_need_asgi", "This server was started without live streams.")


@router.post(
    "/boards/{slug}/live/ticket",
    operation_id="createLiveTicket",
    response=live_schemas.TicketOut,
    auth=read,
    summary="Make a ticket for a stream",
)
def make_ticket(request: HttpRequest, slug: str) -> HttpResponse:
    """For pages: a browser's `EventSource` sends no key, and no page should have one. Your server
    makes a ticket and hands it to the page, which opens `…/live?ticket=…` within a minute. The
    stream goes on after that, and ends within five seconds when the key is revoked or may not read
    the board any more. It shows anonymous players by their aliases, not by the ids that the key may
    see. To reconnect later, take a new ticket."""
    board = board_for(request, slug)
    caller = caller_of(request)
    callers.check_scope(caller, callers.READ)
    assert caller.key_id is not None  # or it had no scope
    ticket = tickets.make(key_id=caller.key_id, slug=board.slug)
    return reply({"ticket": ticket, "expires_in": tickets.LIFETIME})
