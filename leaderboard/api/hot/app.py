"""The fast lane: a native ASGI application before Django, for the few operations that are hot.

What it does not know goes on to Django unchanged: other addresses and methods, unknown hosts,
plain HTTP where HTTPS is required. So there is one place where each of those is decided.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

from django.conf import settings

from config.web.access_log import BODY_TOO_LARGE
from config.web.bodies import BodyTooLargeError, ClientGoneError, NoRoomError, Room
from config.web.hosts import is_allowed
from config.web.outages import OUTAGES
from config.web.sending import PIECE, StalledError, send_body
from leaderboard.api import answers, limits
from leaderboard.api.errors import ApiError, body_too_large
from leaderboard.api.hot import live, operations
from leaderboard.api.hot.errors import as_api_error
from leaderboard.api.hot.http import (
    QUOTED,
    Answer,
    Body,
    Headers,
    Request,
    encoded_headers,
    no_body,
    problem_answer,
)
from leaderboard.api.hot.operations import Lane
from leaderboard.engine import LeaderboardError
from leaderboard.errors import ServiceError
from leaderboard.live.feed import Watch
from ratelimit import callers

logger = logging.getLogger("rostrum.fastlane")

PREFIX = b"/api/v1/boards/"

Read = Callable[[Lane, Request], Awaitable[Answer]]
Write = Callable[[Lane, Request, Body], Awaitable[Answer]]

# Only callers with a key send bodies here.
_room = Room(64 * 1024 * 1024)

# By method and the parts of the address that are fixed; the others are names.
_READS: dict[tuple[int, bytes, bytes], Read] = {
    (2, b"entries", b""): operations.read_entries,
    (4, b"entries", b"around"): operations.read_around,
    (3, b"players", b""): operations.read_player,
}
_WRITES: dict[tuple[int, bytes, bytes], Write] = {
    (2, b"scores", b""): operations.submit_score,
    (3, b"scores", b"bulk"): operations.submit_scores,
}

_lanes: WeakKeyDictionary[asyncio.AbstractEventLoop, Lane] = WeakKeyDictionary()


def lane() -> Lane:
    """The running event loop's."""
    loop = asyncio.get_running_loop()
    found = _lanes.get(loop)
    if found is None:
        found = _lanes[loop] = Lane()
    return found


def find(method: str, segments: list[bytes]) -> tuple[Read | None, Write | None]:
    """The operation at this address, if it is one of the lane's."""
    count = len(segments)
    if count < 2:
        return None, None
    # A player's name is third, but so are `around` and `bulk`.
    fixed = segments[2] if count > 2 and segments[1] != b"players" else b""
    place = (count, segments[1], fixed)
    if method in ("GET", "HEAD"):
        return _READS.get(place), None
    if method == "POST":
        return None, _WRITES.get(place)
    return None, None


def is_stream(method: str, segments: list[bytes]) -> bool:
    return len(segments) == 2 and segments[1] == b"live" and method == "GET"


class FastLane:
    """ASGI: serves what it knows, hands the rest to `application`."""

    def __init__(self, application: Any) -> None:
        self.application = application
        self._has_origins = bool(settings.API_ORIGINS)  # settings are slow to ask
        self._loop: asyncio.AbstractEventLoop | None = None
        self._here: Lane

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/api/"):
            await self.application(scope, receive, send)
            return
        path: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
        if path.startswith(PREFIX):
            segments = path[len(PREFIX) :].split(b"/")
            read, write = find(scope["method"], segments)
            streams = is_stream(scope["method"], segments)
            headers = dict(scope["headers"])
            if (read or write or streams) and is_allowed(headers, scope["scheme"]):
                query = scope["query_string"]
                request = Request(
                    scope["method"],
                    segments,
                    path + b"?" + query if query else path,
                    query,
                    headers,
                    partial(_address, scope),
                )
                if streams:
                    await self._watch(receive, send, request)
                    return
                answer = await self._answer(scope, receive, request, read, write)
                if answer is not None:
                    await self._send(send, answer, request)
                return
            if b"%2F" in path or b"%2f" in path:
                # Django would take a slash inside a name for one between two names.
                scope = scope | {"path": path.decode("latin-1"), QUOTED: True}
        await self.application(scope, receive, send)

    async def _answer(
        self, scope: Any, receive: Any, request: Request, read: Read | None, write: Write | None
    ) -> Answer | None:
        held = 0

        async def body(largest: int) -> bytes:
            nonlocal held
            # Before any of it is read: what its length already says.
            if not scope.get(BODY_TOO_LARGE) and _declared(request) <= largest:
                with contextlib.suppress(BodyTooLargeError):
                    received = await _room.read(receive, largest)
                    if not scope.get(BODY_TOO_LARGE):
                        held = len(received)
                        _room.taken += held
                        return received
            raise body_too_large()

        try:
            return await respond(self._lane(), request, read, write, body)
        except ClientGoneError:
            return None
        finally:
            _room.taken -= held

    def _lane(self) -> Lane:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._here = loop, lane()
        return self._here

    async def _watch(self, receive: Any, send: Any, request: Request) -> None:
        found: list[Watch] = []

        async def admit(here: Lane, asked: Request) -> Answer:
            found.append(await live.watch(here, asked))
            return Answer(200, [], b"")

        answer = await respond(self._lane(), request, admit, None, no_body)
        if found:
            async with live.place(found[0], request) as decision:
                if decision is None or decision.allowed:
                    await live.serve_while_welcome(
                        found[0], request, receive, self._with_origin(send, request)
                    )
                    return
                answer = problem_answer(limits.refusal(decision))
        await self._send(send, answer, request)

    def _with_origin(self, send: Any, request: Request) -> Any:
        """Streams too may be read by pages of other origins."""
        extra = self._origin_headers(request.headers)
        if not extra:
            return send

        async def send_with_origin(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = message | {"headers": [*message["headers"], *extra]}
            await send(message)

        return send_with_origin

    def _origin_headers(self, headers: dict[bytes, bytes]) -> Headers:
        if not self._has_origins:
            return []
        origin = headers.get(b"origin")
        return encoded_headers(
            answers.origin_headers(None if origin is None else origin.decode("latin-1"))
        )

    async def _send(self, send: Any, answer: Answer, request: Request) -> None:
        if len(answer.body) >= answers.WORTH_COMPRESSING:
            await compress(answer, request)
        out: Headers = answer.headers
        out.append((b"x-content-type-options", b"nosniff"))
        out += self._origin_headers(request.headers)
        if answer.status != 304:
            out.append((b"content-length", str(len(answer.body)).encode()))
        body = answer.body if request.method != "HEAD" else b""
        await send({"type": "http.response.start", "status": answer.status, "headers": out})
        if len(body) <= PIECE:
            await send({"type": "http.response.body", "body": body, "more_body": False})
        else:
            with contextlib.suppress(StalledError):
                await send_body(send, body)


async def compress(answer: Answer, request: Request) -> None:
    """Reads come compressed from the store; this is for what is answered once, such as a bulk
    submission. A thread does it, because a large one would hold up the loop."""
    if any(name == b"content-encoding" for name, _ in answer.headers):
        return
    encoding = answers.chosen_encoding(request.header(b"accept-encoding"))
    if not encoding:
        return
    answer.body = await asyncio.to_thread(answers.compressed, answer.body, encoding)
    answer.headers.append((b"content-encoding", encoding.encode()))
    if not any(name == b"vary" for name, _ in answer.headers):
        answer.headers.append((b"vary", b"Accept-Encoding, Authorization"))


async def respond(
    here: Lane, request: Request, read: Read | None, write: Write | None, body: Body
) -> Answer:
    """The operation's answer, whatever happens."""
    try:
        try:
            if write is not None:
                return await write(here, request, body)
            assert read is not None
            return await read(here, request)
        except (ApiError, LeaderboardError, ServiceError) as error:
            return problem_answer(await _charged(request, as_api_error(error)))
    except NoRoomError:
        return problem_answer(
            ApiError(
                503,
                "busy",
                "Too many large bodies are being uploaded. Try again in a moment.",
                headers={"Retry-After": "1"},
            )
        )
    except ClientGoneError:
        raise
    except OUTAGES as error:
        unavailable = limits.unavailable(error)
        extra = {"code": unavailable.code, "error": type(error).__name__}
        logger.warning("Outage", extra=extra)
        return problem_answer(unavailable)
    except Exception:
        logger.exception("the fast lane failed")
        return problem_answer(
            ApiError(500, "server_error", "Something went wrong on our side. It has been logged.")
        )


async def _charged(request: Request, error: ApiError) -> ApiError:
    """What was refused before its limits were asked counts too: guessing must not be free."""
    if request.charged or request.caller is None:
        return error
    request.charged = True
    decision = await limits.acharge(request.caller)
    return error if decision.allowed else limits.refusal(decision)


def _address(scope: Any) -> str:
    peer = scope.get("client") or ("", 0)
    values = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
    return callers.client_address(peer[0], b",".join(values).decode("latin-1"))


def _declared(request: Request) -> int:
    """The length that the client announced; 0 when it sends pieces until the last."""
    length = request.headers.get(b"content-length", b"")
    return int(length) if length.isdigit() and len(length) < 19 else 0
