"""Views that belong to no app: error pages, the icon and health."""

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
    headers: dict[str, str] | None = None,
    signed_in: str = "",
) -> HttpResponse:
    """The same error as a page for people and as problem+json for machines."""
    if wants_problem(request):
        return problem_response(status, code, detail, headers)
    # The page of a failing server must not need the visitor's session.
    page = render_to_string(
        [f"errors/{status}.html", "errors/error.html"],
        {"detail": detail, "status": status, "signed_in": signed_in},
        request if status < 500 else None,
    )
    return HttpResponse(page, status=status, headers=headers)


def service_unavailable(request: HttpRequest, error: BaseException | None = None) -> HttpResponse:
    headers = {"Retry-After": str(RETRY_AFTER), "Cache-Control": "no-store"}
    return error_response(request, 503, *explained(error), headers=headers)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return error_response(
        request, 400, "bad_request", gettext("The request could not be understood.")
    )


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    # The user is known by now. Pages for other errors do not load it: the session may be away.
    user = getattr(request, "user", None)
    return error_response(
        request,
        403,
        "forbidden",
        gettext("You do not have permission to do this."),
        signed_in=user.get_username() if user is not None else "",
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return error_response(
        request,
        403,
        "csrf_failed",
        gettext(
            "The form has expired or came from another site. Go back, reload the page and send "
            "it again."
        ),
    )


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return error_response(request, 404, "not_found", gettext("There is nothing at this address."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Django calls this inside its `except`, so the current error is the cause."""
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
    """For browsers on pages, such as the admin's, that name no icon."""
    icon = (settings.BASE_DIR / "static" / "favicon.svg").read_bytes()
    return HttpResponse(
        icon, content_type="image/svg+xml", headers={"Cache-Control": "public, max-age=86400"}
    )


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process runs; whether its dependencies do is for `readyz`."""
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
