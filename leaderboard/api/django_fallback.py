"""Operations of the fast lane where no lane runs before Django: WSGI, and Django's test client.

Ninja only documents them. The middleware hands a request for one to the same function that the
lane calls; only the way in and out differs.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from config.redis.connections import close_async_redis
from leaderboard.api.errors import body_too_large
from leaderboard.api.hot.app import PREFIX, Read, Write, find, lane, respond
from leaderboard.api.hot.http import Request
from ratelimit import callers


def operation_for(request: HttpRequest) -> tuple[Read | None, Write | None]:
    """The lane's operation at this address, if there is one."""
    path = request.get_full_path().encode().partition(b"?")[0]
    if not path.startswith(PREFIX):
        return None, None
    return find(request.method or "", path.removeprefix(PREFIX).split(b"/"))


async def by_the_lane(request: HttpRequest, read: Read | None, write: Write | None) -> HttpResponse:
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
        lambda: callers.client_ip(request),
    )

    async def body(largest: int) -> bytes:
        if len(request.body) > largest:
            raise body_too_large()
        return request.body

    try:
        answer = await respond(lane(), asked, read, write, body)
    finally:
        if not hasattr(request, "scope"):
            await close_async_redis()  # the event loop ends with this request
    response = HttpResponse(answer.body, status=answer.status)
    del response["Content-Type"]
    for name, value in answer.headers:
        response[name.decode()] = value.decode("latin-1")
    return response
