"""After each request: its session was in use, and a new visitor gets a cookie."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import cast

from django.http import HttpRequest, HttpResponseBase

from config.redis.connections import OUTAGE_ERRORS
from sessions_app import visitors
from sessions_app.backend import SessionStore
from sessions_app.devices import current_session, describe_client

View = Callable[[HttpRequest], HttpResponseBase]


def audience_middleware(get_response: View) -> View:
    """Belongs below SessionMiddleware, which saves a modified session after this has run."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        session = cast("SessionStore", request.session)
        session.describe_client = partial(describe_client, request)
        token = current_session.set(session)
        try:
            response = get_response(request)
        finally:
            current_session.reset(token)
        if not session.modified:
            with suppress(*OUTAGE_ERRORS):  # the response is ready; this can wait
                session.touch()
        visitors.set_cookie(request, response)
        return response

    return middleware
