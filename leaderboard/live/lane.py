"""`/live/boards/<slug>/`, `/live/home/` for the list of boards, `/live/activity/` for staff who
look after all of them and `/live/notices/` for others, served before Django: a viewer costs one
small coroutine.

Who may watch is decided once, when the stream opens, by the same rules as the page. Whatever is
refused is passed on to Django, whose view at this address only says no, in the product's look.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from io import BytesIO
from typing import Any

import msgspec
from django.conf import settings
from django.contrib.auth import get_user
from django.core.exceptions import SuspiciousOperation
from django.core.handlers.asgi import ASGIRequest
from django.utils.translation import get_language_from_request

from config.sql import ask_sql
from config.web.health import RETRY_AFTER
from config.web.hosts import is_allowed
from config.web.outages import OUTAGES, explained
from config.web.problems import CONTENT_TYPE, problem_body
from leaderboard.access import listing
from leaderboard.access.listing import listed_boards
from leaderboard.access.people import player_id_of
from leaderboard.access.rights import Rights, is_staff_with, rights_of
from leaderboard.live.boards import watch_page
from leaderboard.live.feed import Reader, Watch
from leaderboard.live.hub import get_hub
from leaderboard.models import Board
from ratelimit import requests as limited_requests
from sessions_app import presence
from sessions_app.backend import SessionStore

POLICY = "live_stream"
_PATH = re.compile(r"/live/(?:(?P<page>notices|home|activity)|boards/(?P<slug>[a-z0-9-]{1,64}))/")

# The chunks of a stream; the future is done when the viewer has left.
Chunks = Callable[[asyncio.Future[Any]], AsyncGenerator[bytes]]

HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    # no-transform: a proxy that compresses would hold events back.
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]


class LiveLane:
    """ASGI middleware: takes the live streams, leaves the rest."""

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        match = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if (
            match is None
            or scope["method"] != "GET"
            or not is_allowed(dict(scope["headers"]), scope["scheme"])
        ):
            await self.application(scope, receive, send)
            return
        request = ASGIRequest(scope, BytesIO())
        async with limited_requests.hold(request, POLICY) as has_place:
            if has_place:
                try:
                    admitted = await ask_sql(admit, request, match["slug"], match["page"])
                except OUTAGES as error:
                    await _send_outage(send, error)
                    return
                except SuspiciousOperation:  # such as a thousand parameters
                    admitted = None
                if isinstance(admitted, Watch):
                    await serve(admitted, receive, send)
                    return
                if admitted is not None:
                    await _serve(partial(get_hub().notices, admitted), receive, send)
                    return
        await self.application(scope, receive, send)


def admit(request: ASGIRequest, slug: str | None, page: str | None) -> Watch | Reader | None:
    """The same questions as the page's: which board, may this person see it, is the view kept?
    Without a board: the notices of the reader's own player, and the boards that the list shows, or
    for staff who may view boards the feeds of all."""
    session = SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    request.session = session
    user = request.user = get_user(request)
    digest, user_id, rights = "", None, None
    if user.is_authenticated:
        # Read before the board: a change in between ends the stream at the next look.
        digest, user_id, rights = session.digest, user.pk, _rights(user.pk)
    if page == "notices" and user_id is None:
        return None
    if page == "activity" and not is_staff_with(user, "view_board"):
        return None
    if slug is None:
        slugs: tuple[str, ...] = ()
        if page == "home":
            listed = listed_boards(user, request.GET.get("page", "1"))
            slugs = tuple(board.slug for board in listed.boards)
        viewer = presence.viewer_of(request)
        everything = page == "activity"
        return Reader(player_id_of(user), viewer, digest, user_id, rights, slugs, everything)
    try:
        board = listing.get_board(slug, user)
    except Board.DoesNotExist:
        return None
    window = request.GET.get("window", "")
    if window and window not in board.windows:
        return None
    last_sequence = request.headers.get("Last-Event-ID") or request.GET.get("since", "")
    return watch_page(
        board,
        window=window,
        language=get_language_from_request(request),
        last_sequence=_number(last_sequence),
        player_id=player_id_of(user),
        viewer=presence.viewer_of(request),
        session=digest,
        user_id=user_id,
        rights=rights,
    )


def _rights(user_id: int) -> Rights:
    return rights_of([user_id]).get(user_id)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


async def serve(watch: Watch, receive: Any, send: Any) -> None:
    """Send one viewer's events until they leave, Redis cannot be reached, or the process ends."""
    await _serve(partial(get_hub().stream, watch), receive, send)


async def _serve(stream: Chunks, receive: Any, send: Any) -> None:
    gone = asyncio.ensure_future(_until_gone(receive))
    started = False
    try:
        async with aclosing(stream(gone)) as chunks:
            async for chunk in chunks:
                if not started:
                    started = True
                    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        if started:
            await send({"type": "http.response.body", "body": b""})
    except OUTAGES as error:
        if not started:
            await _send_outage(send, error)
    finally:
        gone.cancel()


async def _until_gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_outage(send: Any, error: Exception) -> None:
    body = msgspec.json.encode(problem_body(503, *explained(error)))
    headers = [
        (b"content-type", CONTENT_TYPE.encode()),
        (b"retry-after", str(RETRY_AFTER).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})
