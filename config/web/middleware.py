"""The reader's language, and errors and outages as pages in the product's design."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseNotFound
from django.middleware.locale import LocaleMiddleware
from django.utils import translation
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext

from config.web.access_log import BODY_TOO_LARGE, NO_ROOM
from config.web.errors import error_response, not_found, service_unavailable
from config.web.outages import OUTAGES, explained

API_PAGE = "/api/v1/docs"
logger = logging.getLogger("rostrum.outage")


def missing_file_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Answer for files that WhiteNoise, above this, does not know. Nobody reads a page in place of
    a stylesheet, and drawing one costs far more than this answer."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(settings.STATIC_URL):
            return HttpResponseNotFound("There is no such file.\n", content_type="text/plain")
        return get_response(request)

    return middleware


class LanguageMiddleware(LocaleMiddleware):
    """The reader's language: chosen in the footer, or the browser's. API clients get English; the
    API's documentation is a page like any other."""

    def process_request(self, request: HttpRequest) -> None:
        if request.path_info.startswith("/api/") and request.path_info != API_PAGE:
            translation.activate(settings.LANGUAGE_CODE)
            request.LANGUAGE_CODE = settings.LANGUAGE_CODE
        else:
            super().process_request(request)


class RedisOutageMiddleware(MiddlewareMixin):
    """Turns an outage of Redis or SQL in a view into 503. For one in another middleware (a session
    that could not be saved) Django calls `handler500` instead, which does the same."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, OUTAGES):
            return None
        code, _ = explained(error)
        logger.warning("Outage", extra={"code": code, "error": type(error).__name__})
        return service_unavailable(request, error)


class ErrorPageMiddleware(MiddlewareMixin):
    """Gives refusals for which Django has only an empty page the product's design."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        scope = getattr(request, "scope", {})
        if scope.get(BODY_TOO_LARGE):
            return error_response(
                request,
                413,
                "body_too_large",
                gettext("The request is larger than Rostrum accepts."),
            )
        if scope.get(NO_ROOM):
            return error_response(
                request,
                503,
                "busy",
                gettext("Too many large forms are being uploaded. Try again in a moment."),
                headers={"Retry-After": "1"},
            )
        if request.META["QUERY_STRING"].count("&") >= settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:
            # Django would refuse it when a view reads them, and log each as an attack.
            return error_response(
                request,
                400,
                "too_many_parameters",
                gettext("The address has too many parameters."),
            )
        if "\0" in request.path_info:  # no name has one, and PostgreSQL fails on it
            return not_found(request)
        return None

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if isinstance(response, HttpResponseNotAllowed) and not response.content:
            return error_response(
                request,
                405,
                "method_not_allowed",
                gettext("This address does not accept %(method)s requests.")
                % {"method": request.method},
                headers={"Allow": response["Allow"]},
            )
        return response
