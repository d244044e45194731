"""What the answers of the API have in common when Django gives them: origins, validators, size."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin

from config.web.errors import error_response
from leaderboard.api import answers, callers, limits
from leaderboard.api.django_fallback import by_the_lane, operation_for
from ratelimit import answers as limit_answers
from ratelimit import requests as limited_requests
from ratelimit.callers import client_ip

ETAG = "_api_etag"
HEAD = "_api_head"
# Where RATE_LIMIT_PREFIXES leaves the limits to us.
CHARGES_ITSELF = "/api/v1/boards"
LANE = "_api_lane"  # answered by the lane's own operation, which charges


class ApiMiddleware(MiddlewareMixin):
    """Leaves every other address alone."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if request.method != "OPTIONS" or not request.path.startswith("/api/"):
            return None
        headers = answers.preflight_headers(request.headers.get("Origin"))
        if "Access-Control-Allow-Origin" not in headers:
            return None  # an ordinary OPTIONS: the address says what it takes
        return HttpResponse(status=204, headers=headers)

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        if not request.path.startswith("/api/"):
            return None
        if request.method == "HEAD":  # Ninja knows no HEAD: it is a GET, and the body stays here
            setattr(request, HEAD, True)
            request.method = "GET"
        read, write = operation_for(request)
        if read is None and write is None:
            return None
        setattr(request, LANE, True)
        return async_to_sync(by_the_lane)(request, read, write)

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if not request.path.startswith("/api/"):
            return response
        response = _charged(request, response)
        if isinstance(response, HttpResponseNotAllowed):
            # Ninja says so in words of its own.
            response = error_response(
                request,
                405,
                "method_not_allowed",
                f"This address does not accept {request.method} requests.",
                headers={"Allow": response["Allow"].replace("GET", "GET, HEAD")},
            )
        for name, value in answers.origin_headers(request.headers.get("Origin")).items():
            if name == "Vary":
                patch_vary_headers(response, [value])
            else:
                response[name] = value
        tag = getattr(request, ETAG, None)
        if tag is not None and response.status_code in (200, 304):
            response["ETag"] = tag
            response["Cache-Control"] = "private, no-cache"
        if not response.streaming:
            _compress(request, response)
        if getattr(request, HEAD, False):
            request.method = "HEAD"
            _take_body(response)
        return response


def _charged(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Operations charge their callers. What never came to one counts too: unknown addresses, wrong
    methods, preflights."""
    if (
        not request.path.startswith(CHARGES_ITSELF)
        or hasattr(request, LANE)
        or limited_requests.decisions(request)
    ):
        return response
    decision = limits.charge(callers.anonymous(client_ip(request)))
    return response if decision.allowed else limit_answers.refusal(request, decision)


def _compress(request: HttpRequest, response: HttpResponse) -> None:
    if response.has_header("Content-Encoding") or response.status_code in (204, 304):
        return
    patch_vary_headers(response, ["Accept-Encoding", "Authorization"])
    if len(response.content) < answers.WORTH_COMPRESSING:
        return
    encoding = answers.chosen_encoding(request.headers.get("Accept-Encoding", ""))
    if encoding:
        response.content = answers.compressed(response.content, encoding)
        response["Content-Encoding"] = encoding
        response["Content-Length"] = str(len(response.content))


def _take_body(response: HttpResponse) -> None:
    """HEAD: the headers of the whole answer, without it."""
    if response.streaming:
        response.close()
        response.streaming_content = ()  # type: ignore[attr-defined]
        return
    if response.status_code not in (204, 304):
        response["Content-Length"] = str(len(response.content))
    response.content = b""
