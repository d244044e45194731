"""The live stream for programs: the hub that feeds the pages, with JSON in its events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from config.web.outages import SQL_ERRORS
from leaderboard.api import callers, limits, tickets
from leaderboard.api.errors import ApiError
from leaderboard.api.hot.boards import board_cache
from leaderboard.api.hot.http import Request, decoded
from leaderboard.api.hot.operations import Lane, admitted, read_query
from leaderboard.api.queries import LiveQuery
from leaderboard.engine import LeaderboardError
from leaderboard.engine.values import checked_printable_id
from leaderboard.live.boards import watch_json
from leaderboard.live.feed import Watch
from leaderboard.live.lane import POLICY, serve
from ratelimit import leases, policies, requests
from ratelimit.decision import Decision

PLAYERS_POLICY = "live_players"
ASK_AGAIN = callers.REMEMBER  # seconds; a key that was revoked stops within 5


async def watch(lane: Lane, request: Request) -> Watch:
    """What the caller may watch; raises like any other operation."""
    if b"ticket=" in request.query and b"authorization" not in request.headers:
        _use_ticket(request)
    caller, board = await admitted(lane, request, callers.READ)
    query = read_query(LiveQuery, request)
    window, players = query.window, [checked_printable_id(player) for player in query.player]
    if window != "season" and window not in board.windows:
        raise LeaderboardError(
            f"This board has no window {window!r}.", code="unknown_window", field="window"
        )
    request.charged = True
    decision = await limits.acharge(caller)
    if not decision.allowed:
        raise limits.refusal(decision)
    seen = request.header(b"last-event-id")
    return watch_json(
        board,
        window="" if window == "season" else window,
        last_sequence=int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 19 else None,
        player_ids=players,
        owner=caller.name,
        with_ids=caller.knows_ids(board),
    )


def _use_ticket(request: Request) -> None:
    """From here on the request is one of the key behind the ticket."""
    request.caller = callers.anonymous(request.address)  # is charged for guessing
    query = read_query(LiveQuery, request)
    key_id = tickets.read(query.ticket, slug=decoded(request.segments[0], "board"))
    request.headers[b"authorization"] = callers.credential(key_id)


@asynccontextmanager
async def place(watch: Watch, request: Request) -> AsyncIterator[Decision | None]:
    """A place among the streams at once of this key or address; None when it needs none. A stream
    with players of its own, which is read for it alone, needs one of the few of those too."""
    async with _place(request) as decision:
        if not watch.owner or (decision is not None and not decision.allowed):
            yield decision
            return
        assert request.caller is not None  # a stream that was admitted
        async with leases.hold(PLAYERS_POLICY, request.caller.name) as own:
            yield own


@asynccontextmanager
async def _place(request: Request) -> AsyncIterator[Decision | None]:
    caller = request.caller
    assert caller is not None
    if caller.key_id is None and requests.is_exempt_address(policies.get(POLICY), request.address):
        yield None
        return
    async with leases.hold(POLICY, caller.name) as decision:
        yield decision


async def serve_while_welcome(watch: Watch, request: Request, receive: Any, send: Any) -> None:
    """Serve until the client leaves, or may see the board, or ids on it, no more."""
    gone = asyncio.create_task(_until_gone(receive))
    refused = asyncio.create_task(_until_refused(watch.slug, request))

    async def receive_end() -> dict[str, str]:
        await asyncio.wait({gone, refused}, return_when=asyncio.FIRST_COMPLETED)
        return {"type": "http.disconnect"}

    try:
        await serve(watch, receive_end, send)
    finally:
        gone.cancel()
        refused.cancel()


async def _until_gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _until_refused(slug: str, request: Request) -> None:
    """A key is looked at again and again. A board that changes ends its streams itself, so that
    it is enough to look once, when what this process remembered of it at first is out of date. A
    key that won or lost a public board ends its stream too: the next one shows other names."""
    admitted_as = request.caller
    assert admitted_as is not None
    authorization = request.headers.get(b"authorization")
    with suppress(ApiError):
        while True:
            await asyncio.sleep(ASK_AGAIN)
            try:
                caller = await callers.aidentify(authorization, request.address)
                board = await board_cache().get(slug)
            except SQL_ERRORS:
                continue  # nobody can have revoked anything; asked again in a moment
            callers.check(caller)
            callers.check_board(caller, board, callers.READ)
            if caller.knows_ids(board) != admitted_as.knows_ids(board):
                return
            if authorization is None:
                await asyncio.Future()
