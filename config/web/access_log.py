"""Around every request: an id, a line in the log, and limits of the body's size and time."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import time
from typing import Any

from config.web.problems import CONTENT_TYPE, problem_body
from config.web.sending import send_json

logger = logging.getLogger("rostrum.access")

_REQUEST_ID = re.compile(rb"[A-Za-z0-9_.-]{1,64}")
BODY_TOO_LARGE = "rostrum.body_too_large"
BODY_INCOMPLETE = "rostrum.body_incomplete"
BODY_LATE = "rostrum.body_late"
NO_ROOM = "rostrum.no_room"
# The client's address, set by a layer that knows it better than the connection.
CLIENT = "rostrum.client"
BODY_SECONDS = 30.0  # from the first read of a body to its last byte
REFUSAL_PAUSE = 0.25  # seconds before a 429 is sent
MOST_PAUSED = 1000  # per process; what is refused beyond that is answered at once
# Probes come every few seconds; only failures are worth a line.
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})


class AccessLog:
    """ASGI middleware. The request id comes from a proxy's X-Request-ID or is made here; it goes
    out as a header and into the log, so that a visitor's report finds its line."""

    def __init__(self, application: Any) -> None:
        self.application = application
        self._paused = 0

    async def _pause(self) -> None:
        """Answer a refused request late. A client that ignores refusals would otherwise be answered
        as fast as it can ask, and its refusals would take the processor from everybody else."""
        if self._paused < MOST_PAUSED:
            self._paused += 1
            try:
                await asyncio.sleep(REFUSAL_PAUSE)
            finally:
                self._paused -= 1

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        start = time.perf_counter()
        request_id = _request_id(scope["headers"])
        scope["rostrum.request_id"] = request_id.decode()
        status = 0

        async def send_with_id(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if status == 429:
                    await self._pause()
                message = message | {
                    "headers": [*message.get("headers", ()), (b"x-request-id", request_id)]
                }
            await send(message)

        try:
            await self.application(scope, receive, send_with_id)
            if not status and scope.get(BODY_INCOMPLETE):
                await _refuse_incomplete(send_with_id, late=bool(scope.get(BODY_LATE)))
        finally:
            path = scope["path"]
            if logger.isEnabledFor(logging.INFO) and not (path in _QUIET and status == 200):
                fields = {
                    "method": scope["method"],
                    "path": path,
                    "status": status,
                    "ms": round((time.perf_counter() - start) * 1000, 1),
                    "id": scope["rostrum.request_id"],
                }
                logger.info("", extra=fields)


def _request_id(headers: Any) -> bytes:
    for name, value in headers:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return bytes(value)
    # Identifies a line of the log, no secret.
    return b"%016x" % random.getrandbits(64)


class BodyLimit:
    """ASGI middleware: a body over `largest` bytes never reaches the disk, and one that is not
    complete after `seconds` is given up.

    Django would store all of it before a view can refuse it. Here it is cut off, and the request
    continues with an empty body and a mark in its scope, so that the refusal is a page of the
    product. A body that ends in the middle, or comes too slowly, is marked too.
    """

    def __init__(self, application: Any, largest: int, seconds: float = BODY_SECONDS) -> None:
        self.application = application
        self.largest = largest
        self.seconds = seconds

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            for name, value in scope["headers"]:
                if name == b"content-length":
                    if not value.isdigit() or len(value) > 18 or int(value) > self.largest:
                        scope[BODY_TOO_LARGE] = True
                    break
        received = 0
        cut_off, more, late = False, True, False  # more: the body is not complete
        timer: asyncio.TimerHandle | None = None

        def give_up(reading: asyncio.Task[Any]) -> None:
            nonlocal late
            late = True
            reading.cancel()

        async def receive_in_time() -> Any:
            """A timer for the whole body, by hand: `asyncio.timeout` costs three times as much."""
            nonlocal timer
            reading = asyncio.current_task()
            assert reading is not None
            if timer is None:
                timer = reading.get_loop().call_later(self.seconds, lambda: give_up(reading))
            try:
                return await receive()
            except asyncio.CancelledError:
                if not late:
                    raise
                reading.uncancel()
                scope[BODY_LATE] = True
                return {"type": "http.disconnect"}

        async def receive_bounded() -> Any:
            nonlocal received, cut_off, more
            while cut_off:  # drop the rest of the body, until the client leaves
                message = await receive()
                if message["type"] != "http.request":
                    return message
            if not scope.get(BODY_TOO_LARGE):
                message = await (receive_in_time() if more else receive())
                received += len(message.get("body", b""))
                if more and message["type"] == "http.disconnect":
                    scope[BODY_INCOMPLETE] = True
                more = message.get("more_body", False)
                if timer is not None and not more:
                    timer.cancel()
                if received <= self.largest:
                    return message
                scope[BODY_TOO_LARGE] = True
            cut_off = True
            return {"type": "http.request", "body": b"", "more_body": False}

        try:
            await self.application(scope, receive_bounded, send)
        finally:
            if timer is not None:
                timer.cancel()


async def _refuse_incomplete(send: Any, *, late: bool) -> None:
    """For a client that has stopped sending but still reads; the server would answer 500."""
    status, reason = 400, "The request ended before its body was complete."
    if late:
        status, reason = 408, "The body took too long to arrive."
    problem = problem_body(
        status, "incomplete_body", f"{reason} Nothing was changed; send it again."
    )
    await send_json(send, status, problem, {"Connection": "close"}, content_type=CONTENT_TYPE)
