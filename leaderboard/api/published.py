"""`/api/v1/openapi.json`: written and compressed once per process, because each takes longer than a
hundred scores."""

from __future__ import annotations

import hashlib
import threading
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.views.decorators.http import require_GET

from leaderboard.api import answers
from leaderboard.api.app import api
from leaderboard.api.requests import ETAG

_writing = threading.Lock()  # those who come first at the same time wait for one of them


@require_GET  # the middleware makes a GET of HEAD
def openapi_document(request: HttpRequest, **kwargs: Any) -> HttpResponse:
    with _writing:
        tag = _tag()
        setattr(request, ETAG, tag)
        known = request.headers.get("If-None-Match")
        if known is not None and answers.matches(known, tag):
            return HttpResponseNotModified()
        encoding = answers.chosen_encoding(request.headers.get("Accept-Encoding", ""))
        body = _body(encoding)
    response = HttpResponse(body, content_type=answers.JSON_TYPE)
    response["Vary"] = "Accept-Encoding, Authorization"
    if encoding:
        response["Content-Encoding"] = encoding
    return response


@cache
def _body(encoding: str) -> bytes:
    if encoding:
        return answers.compressed(_body(""), encoding)
    return answers.encode_json(api.get_openapi_schema())


@cache
def _tag() -> str:
    return answers.etag(hashlib.sha256(_body("")).hexdigest()[:16])
