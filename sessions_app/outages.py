"""Pages that need no Redis but for the reader's session."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import cast

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import add_never_cache_headers

from config.redis.connections import OUTAGE_ERRORS
from sessions_app.backend import SessionStore


def readable_without_session(
    view: Callable[..., HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """While Redis is away, render the page as for a signed-out reader, and keep the cookie.

    Only for views that do not write. A page that needs a signed-in reader is then an outage and not
    404: the reader might be allowed to see it.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        try:
            bool(request.user.is_authenticated)  # loads the session
        except OUTAGE_ERRORS as outage:
            cast("SessionStore", request.session).read_as_empty()
            try:
                response = view(request, *args, **kwargs)
            except Http404:
                raise outage from None
            add_never_cache_headers(response)
            return response
        return view(request, *args, **kwargs)

    return wrapped
