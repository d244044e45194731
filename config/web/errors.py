"""What belongs to no app: error pages, and what machines ask."""

from __future__ import annotations

import sys

from asgiref.sync import async_to_sync
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from config.redis.connections import close_async_redis
from config.web import health
from config.web.health import RETRY_AFTER
from config.web.outages import OUTAGES, explained
from config.web.problems import problem_response, wants_problem


def error_response(
    request: HttpRequest,
    status: int,
    code: str,
    detail: str,
    *,
    signed_in: str = "",
    **headers: str,
) -> HttpResponse:
    """The same error as a page for people and as problem+json for machines."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if wants_problem(request):
        return problem_response(status, code, detail, headers=named)
    # A failing server must not ask for the visitor's session to say so.
    page = render_to_string(
        [f"errors/{status}.html", "errors/error.html"],
        {"detail": detail, "status": status, "signed_in": signed_in},
        request if status < 500 else None,
    )
    response = HttpResponse(page, status=status)
    for name, value in named.items():
        response[name] = value
    return response


def service_unavailable(request: HttpRequest, error: BaseException | None = None) -> HttpResponse:
    return error_response(
        request,
        503,
        *explained(error),
        Retry_After=str(RETRY_AFTER),
        Cache_Control="no-store",
    )


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return error_response(
        request, 400, "bad_request", gettext("The request could not be understood.")
    )


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    # Who it is has just been asked. Pages for other errors do not ask: the session may be away.
    user = getattr(request, "user", None)
    return error_response(
        request,
        403,
        "forbidden",
        gettext("You may not do this."),
        signed_in=user.get_username() if user is not None else "",
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return error_response(
        request,
        403,
        "csrf_failed",
        gettext(
            "The form was too old or came from elsewhere. "
            "Go back, reload the page and send it again."
        ),
    )


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return error_response(request, 404, "not_found", gettext("There is nothing at this address."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Django calls this inside its `except`, so the error at hand tells an outage from a bug."""
    error = sys.exc_info()[1]
    if isinstance(error, OUTAGES):
        return service_unavailable(request, error)
    return error_response(
        request,
        500,
        "server_error",
        gettext("Something went wrong on our side. It has been logged."),
    )


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Browsers ask here when a page, such as the admin's, names no icon."""
    icon = (settings.BASE_DIR / "static" / "favicon.svg").read_bytes()
    return HttpResponse(
        icon, content_type="image/svg+xml", headers={"Cache-Control": "public, max-age=86400"}
    )


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process runs and answers; says nothing about what it depends on."""
    return JsonResponse(health.ALIVE)


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Whether this process can serve. Under ASGI `health.Health` answers both, without a thread."""
    ready = async_to_sync(_readiness)(close=not hasattr(request, "scope"))
    return JsonResponse(ready.shown(), status=ready.status, headers=ready.headers)


async def _readiness(*, close: bool) -> health.Readiness:
    try:
        return await health.readiness()
    finally:
        if close:
            await close_async_redis()  # the event loop ends with this request
