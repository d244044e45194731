"""What every request leaves behind: that its session is in use, and the visitor's cookie."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, cast

from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from config.redis.connections import OUTAGE_ERRORS
from sessions_app import visitors
from sessions_app.backend import SessionStore
from sessions_app.devices import current_session, describe_client


@sync_and_async_middleware
def audience_middleware(get_response: Callable[[HttpRequest], Any]) -> Callable[..., Any]:
    """Stands after SessionMiddleware, which saves on the way out what this one has not."""
    if iscoroutinefunction(get_response):

        async def amiddleware(request: HttpRequest) -> HttpResponseBase:
            session = _describe(request)
            token = current_session.set(session)
            try:
                response = await cast("Awaitable[HttpResponseBase]", get_response(request))
            finally:
                current_session.reset(token)
            if not session.modified:
                with suppress(*OUTAGE_ERRORS):  # the answer is ready; this can wait
                    await session.atouch()
            visitors.set_cookie(request, response)
            return response

        return amiddleware

    def middleware(request: HttpRequest) -> HttpResponseBase:
        session = _describe(request)
        token = current_session.set(session)
        try:
            response: HttpResponseBase = get_response(request)
        finally:
            current_session.reset(token)
        if not session.modified:
            with suppress(*OUTAGE_ERRORS):
                session.touch()
        visitors.set_cookie(request, response)
        return response

    return middleware


def _describe(request: HttpRequest) -> SessionStore:
    session = cast("SessionStore", request.session)
    session.describe_client = partial(describe_client, request)
    return session
