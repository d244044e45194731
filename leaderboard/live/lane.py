"""`/live/boards/<slug>/`, `/live/home/` for the list of boards, `/live/activity/` for staff who
look after all of them and `/live/notices/` for others, served before Django: a viewer costs one
small coroutine.

Who may watch is decided once, when the stream opens, by the same rules as the page. A request that
is refused goes on to Django, whose view at this address answers 404 in the product's look.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
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
from leaderboard.access.rights import is_staff_with, rights_of
from leaderboard.live.boards import watch_page
from leaderboard.live.feed import SiteWatch, Visitor, Watch
from leaderboard.live.hub import get_hub
from leaderboard.models import Board
from ratelimit import requests as limited_requests
from sessions_app import presence
from sessions_app.backend import SessionStore

POLICY = "live_stream"
# Openings that wait for SQL at the same time. All queries outside of requests share a thread, and a
# thousand pages that come back at once must not keep API keys and health checks waiting.
ADMITTED_AT_ONCE = 2
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
        self._admitting = asyncio.Semaphore(ADMITTED_AT_ONCE)

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
                    async with self._admitting:
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
                    await _serve(partial(get_hub().site_stream, admitted), receive, send)
                    return
        await self.application(scope, receive, send)


def admit(request: ASGIRequest, slug: str | None, page: str | None) -> Watch | SiteWatch | None:
    """What this request may watch, by the same rules as the page. Without a board: the notices of
    the reader's own player and the boards of the list, or for staff who may view boards the feeds
    of all."""
    session = SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    request.session = session
    user = request.user = get_user(request)
    visitor = Visitor(player_id=player_id_of(user), presence=presence.viewer_of(request))
    if user.is_authenticated:
        # Rights are read before the board: a change in between ends the stream at the next check.
        rights = rights_of([user.pk]).get(user.pk)
        visitor = replace(visitor, session=session.digest, user_id=user.pk, rights=rights)
    if slug is not None:
        return _watch_board(request, slug, visitor)
    if page == "notices":
        return SiteWatch(visitor=visitor) if user.is_authenticated else None
    if page == "activity":
        may_view = is_staff_with(user, "view_board")
        return SiteWatch(visitor=visitor, activity=True) if may_view else None
    listed = listed_boards(user, request.GET.get("page", "1"))
    return SiteWatch(visitor=visitor, slugs=tuple(board.slug for board in listed.boards))


def _watch_board(request: ASGIRequest, slug: str, visitor: Visitor) -> Watch | None:
    try:
        board = listing.get_board(slug, request.user)
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
        visitor=visitor,
    )


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
