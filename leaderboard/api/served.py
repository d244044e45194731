"""Operations of the fast lane where no lane stands before Django: WSGI, and Django's test client.

Ninja knows them for its document. When a request for one gets this far, the same function answers
it; only the way in and out differs.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from config.redis import close_async_redis
from leaderboard.fastlane.app import PREFIX, lane, respond
from leaderboard.fastlane.http import Request
from ratelimit import whose


async def by_the_lane(request: HttpRequest, operation: Any, *, write: bool = False) -> HttpResponse:
    path = request.get_full_path().encode()
    target, _, query = path.partition(b"?")
    asked = Request(
        request.method or "",
        target.removeprefix(PREFIX).split(b"/"),
        path,
        query,
        {
            name.lower().encode(): value.encode("latin-1", "replace")
            for name, value in request.headers.items()
        },
        lambda: whose.client_ip(request),
    )
    try:
        answer = await respond(
            lane(),
            asked,
            None if write else operation,
            operation if write else None,
            request.body if write else b"",
        )
    finally:
        if not hasattr(request, "scope"):
            await close_async_redis()  # the event loop ends with this request
    response = HttpResponse(answer.body, status=answer.status)
    del response["Content-Type"]
    for name, value in answer.headers:
        response[name.decode()] = value.decode("latin-1")
    return response
