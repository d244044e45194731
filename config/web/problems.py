"""Errors for programs: problem+json (RFC 9457), the same shape everywhere."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, JsonResponse

CONTENT_TYPE = "application/problem+json"


def problem_body(status: int, code: str, detail: str, **extra: Any) -> dict[str, Any]:
    """`code` is stable and for programs; `detail` is a sentence for a person."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
    } | extra


def problem_response(
    status: int, code: str, detail: str, headers: dict[str, str] | None = None, **extra: Any
) -> JsonResponse:
    return JsonResponse(
        problem_body(status, code, detail, **extra),
        status=status,
        content_type=CONTENT_TYPE,
        headers=headers,
    )


def wants_problem(request: HttpRequest) -> bool:
    """JSON for everything under /api/, and for requests that prefer it to a page."""
    if request.path.startswith("/api/"):
        return True
    return request.get_preferred_type(["text/html", "application/json"]) == "application/json"
