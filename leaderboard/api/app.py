"""The API as Django serves it: Ninja, its document, its errors."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.openapi.docs import Swagger
from ninja.parser import Parser

from config.redis.locks import LockTakenError
from config.web.errors import service_unavailable
from config.web.outages import OUTAGES
from leaderboard.api import answers, codecs, document
from leaderboard.api.errors import ApiError, body_too_large
from leaderboard.api.hot.errors import as_api_error
from leaderboard.api.requests import NotModifiedError
from leaderboard.api.routes import boards, entries, live, places, players, scores, seasons
from leaderboard.api.validation import invalid_query
from leaderboard.engine import LeaderboardError
from leaderboard.errors import ServiceError

logger = logging.getLogger("rostrum.api")


class StrictParser(Parser):
    """JSON as the fast lane reads it."""

    def parse_body(self, request: HttpRequest) -> Any:
        return codecs.decode_anything(request.body)


class Api(NinjaAPI):
    def get_openapi_schema(self, **kwargs: Any) -> Any:
        return document.completed(super().get_openapi_schema(**kwargs))


def known_query(view: Callable[..., Any], models: Iterable[Any]) -> Callable[..., Any]:
    """The view, for requests without parameters that it does not know."""
    known = {
        name
        for model in models
        if model.__ninja_param_source__ == "query"
        for name in model.__ninja_flatten_map__
    }

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        for name in request.GET:
            if name not in known:
                raise ApiError(422, "unknown_field", "This parameter is unknown.", field=name)
        return view(request, *args, **kwargs)

    return checked


api = Api(
    title="Rostrum",
    version="1.0.0",
    description=document.INTRODUCTION,
    urls_namespace="api",
    docs=Swagger(settings={"validatorUrl": None, "tryItOutEnabled": True}),
    parser=StrictParser(),
)
for router in (boards, entries, places, players, scores, seasons, live):
    for view in router.router.path_operations.values():
        for operation in view.operations:
            operation.view_func = known_query(operation.view_func, operation.models)
    api.add_router("", router.router)


@api.exception_handler(ApiError)
def refused(request: HttpRequest, error: ApiError) -> HttpResponse:
    status, headers, body = answers.problem(error)
    return HttpResponse(body, status=status, headers=headers)


@api.exception_handler(LockTakenError)
@api.exception_handler(LeaderboardError)
@api.exception_handler(ServiceError)
def refused_below(request: HttpRequest, error: Any) -> HttpResponse:
    return refused(request, as_api_error(error))


@api.exception_handler(ValidationError)
def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    return refused(request, invalid_query(error.errors))


@api.exception_handler(HttpError)
def http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    if isinstance(error.__cause__, ApiError):  # what the parser said, behind Ninja's words
        return refused(request, error.__cause__)
    return refused(request, ApiError(error.status_code, "bad_request", str(error)))


@api.exception_handler(Http404)
def nothing_here(request: HttpRequest, error: Http404) -> HttpResponse:
    return refused(request, ApiError(404, "not_found", "There is nothing at this address."))


@api.exception_handler(NotModifiedError)
def not_modified(request: HttpRequest, error: NotModifiedError) -> HttpResponse:
    response = HttpResponse(status=304)
    del response["Content-Type"]
    return response


@api.exception_handler(RequestDataTooBig)
def too_large(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return refused(request, body_too_large())


@api.exception_handler(Exception)
def failed(request: HttpRequest, error: Exception) -> HttpResponse:
    if isinstance(error, OUTAGES):
        return service_unavailable(request, error)
    logger.error("an operation failed", exc_info=error, extra={"path": request.path})
    return refused(
        request,
        ApiError(500, "server_error", "Something went wrong on our side. It has been logged."),
    )
