"""What every answer of the API carries: types, validators, limits, origins, compression."""

from __future__ import annotations

import gzip
import re
from functools import lru_cache
from typing import Any

import brotli
import msgspec
from django.conf import settings

from config.web.problems import CONTENT_TYPE as PROBLEM_TYPE
from leaderboard.api.errors import ApiError

JSON_TYPE = "application/json"
WORTH_COMPRESSING = 1024  # bytes; below this, compressing costs more than it saves

encode_json = msgspec.json.Encoder().encode

_EXPOSED = "ETag, Idempotency-Replayed, RateLimit, RateLimit-Policy, Retry-After, X-Request-ID"
_ALLOWED_HEADERS = "Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID"
_METHODS = "GET, POST, PUT, PATCH, DELETE, OPTIONS"
PREFLIGHT_AGE = 600


# ---- origins -------------------------------------------------------------------------------------


def origin_headers(origin: str | None) -> dict[str, str]:
    """CORS for the origins that the setting API_ORIGINS names; `*` is anybody.

    Keys travel in a header that a page must know, never in a cookie, so credentials stay off.
    """
    allowed = settings.API_ORIGINS
    if not allowed:
        return {}
    if "*" in allowed:
        return {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": _EXPOSED}
    headers = {"Vary": "Origin"}
    if origin is not None and origin in allowed:
        headers["Access-Control-Allow-Origin"] = origin
        headers["Access-Control-Expose-Headers"] = _EXPOSED
    return headers


def preflight_headers(origin: str | None) -> dict[str, str]:
    headers = origin_headers(origin)
    if "Access-Control-Allow-Origin" in headers:
        headers |= {
            "Access-Control-Allow-Methods": _METHODS,
            "Access-Control-Allow-Headers": _ALLOWED_HEADERS,
            "Access-Control-Max-Age": str(PREFLIGHT_AGE),
        }
    return headers


# ---- compression ---------------------------------------------------------------------------------


LONGEST_ACCEPTED = 200  # of the header that is looked at; browsers send about 30 characters


def chosen_encoding(accepted: str) -> str:
    """`br`, `gzip` or nothing, by the Accept-Encoding header."""
    return _chosen(accepted[:LONGEST_ACCEPTED])


@lru_cache(maxsize=256)
def _chosen(accepted: str) -> str:
    weights: dict[str, float] = {}
    for part in accepted.lower().split(","):
        name, _, parameters = part.strip().partition(";")
        match = re.search(r"q=([0-9.]+)", parameters)
        try:
            weights[name.strip()] = float(match[1]) if match else 1.0
        except ValueError:
            weights[name.strip()] = 0.0
    for name in ("br", "gzip"):
        if weights.get(name, weights.get("*", 0.0)) > 0:
            return name
    return ""


def compressed(body: bytes, encoding: str) -> bytes:
    if encoding == "br":
        smaller: bytes = brotli.compress(body, quality=4)
        return smaller
    return gzip.compress(body, compresslevel=5, mtime=0)


# ---- validators ----------------------------------------------------------------------------------


def etag(*parts: Any) -> str:
    """Weak: the same content, perhaps compressed otherwise."""
    return 'W/"' + "-".join(str(part) for part in parts) + '"'


def matches(if_none_match: str, tag: str) -> bool:
    if if_none_match == tag:
        return True
    return any(one.strip() in (tag, tag[2:], "*") for one in if_none_match.split(","))


# ---- errors --------------------------------------------------------------------------------------


def problem(error: ApiError) -> tuple[int, dict[str, str], bytes]:
    """The parts of an error's answer."""
    headers = {"Content-Type": PROBLEM_TYPE, "Cache-Control": "no-store", **error.headers}
    return error.status, headers, encode_json(error.body())
