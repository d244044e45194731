"""Browsers without an account: a random id in a cookie, without personal data."""

from __future__ import annotations

import re
import secrets
from functools import lru_cache

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from ratelimit import callers

COOKIE = "visitor"
COOKIE_AGE = 180 * 24 * 3600
_ID = re.compile(r"[A-Za-z0-9_-]{22}")
# Cubot makes telephones.
_BOT = re.compile(
    r"(?<!cu)bot\b|crawl|spider|slurp|scrape|headless|preview|monitor|uptime|archiver|fetch"
    r"|facebookexternalhit|lighthouse|curl|wget|python|java/|go-http|okhttp|libwww|httpclient"
    r"|postman|axios|node",
    re.IGNORECASE,
)


def known_id(request: HttpRequest) -> str:
    """The id that the browser sent; empty when it has none yet."""
    known = request.COOKIES.get(COOKIE, "")
    return known if _ID.fullmatch(known) else ""


def visitor_id(request: HttpRequest) -> str:
    """The browser's id; a new one is made on first use and set by `set_cookie`."""
    known = known_id(request)
    if known:
        return known
    made: str | None = getattr(request, "_new_visitor", None)
    if made is None:
        made = secrets.token_urlsafe(16)
        request._new_visitor = made  # type: ignore[attr-defined]
    return made


def set_cookie(request: HttpRequest, response: HttpResponseBase) -> None:
    """Give the browser the id that this request made, if it made one."""
    made = getattr(request, "_new_visitor", None)
    if made is not None:
        response.set_cookie(
            COOKIE,
            made,
            max_age=COOKIE_AGE,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )


def device(request: HttpRequest) -> str:
    """The browser's name for a rate limit: by its cookie, and one for all without a cookie."""
    known = known_id(request)
    return callers.hashed("device", known) if known else "device:none"


def is_bot(request: HttpRequest) -> bool:
    """Whether the User-Agent header is missing or that of a program."""
    return looks_like_bot(request.headers.get("User-Agent", "")[:400])


@lru_cache(maxsize=2048)
def looks_like_bot(user_agent: str) -> bool:
    return not user_agent or _BOT.search(user_agent) is not None
