"""A default limit for each address prefix, and the headers of every limit that was met."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from ratelimit import answers, requests
from ratelimit.decorators import limits_itself


def default_policy(path: str) -> str | None:
    """The policy of the longest prefix in RATE_LIMIT_PREFIXES; None leaves the path alone."""
    fitting = [prefix for prefix in settings.RATE_LIMIT_PREFIXES if path.startswith(prefix)]
    name: str | None = settings.RATE_LIMIT_PREFIXES[max(fitting, key=len)] if fitting else None
    return name


class RateLimitMiddleware:
    """Stands below AuthenticationMiddleware. A request that meets a view's own `@limit` is left to
    it, so that none pays for two round trips."""

    sync_capable = True
    async_capable = True

    def __init__(
        self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]
    ) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)
        # Django wants a coroutine from an asynchronous middleware, and must not get one otherwise.
        self.process_view = self._process_view_async if self.is_async else self._process_view

    def __call__(self, request: HttpRequest) -> Any:
        if self.is_async:
            return self._respond(request)
        response: Any = self.get_response(request)
        requests.finish(request, response)
        return response

    async def _respond(self, request: HttpRequest) -> HttpResponseBase:
        response: Any = await self.get_response(request)  # type: ignore[misc]
        requests.finish(request, response)
        return response  # type: ignore[no-any-return]

    def _process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        name = _default_for(request, view)
        decision = requests.check(request, name) if name else None
        if decision is None or decision.allowed:
            return None
        return answers.refusal(request, decision)

    async def _process_view_async(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        name = _default_for(request, view)
        decision = await requests.acheck(request, name) if name else None
        if decision is None or decision.allowed:
            return None
        return answers.refusal(request, decision)


def _default_for(request: HttpRequest, view: Any) -> str | None:
    return None if limits_itself(view, request) else default_policy(request.path_info)
