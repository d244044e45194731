"""A limit for each address prefix, and the headers of every limit that was met."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from ratelimit import answers, requests
from ratelimit.decision import Decision

# In an ASGI scope: what the gate decided; None for a caller who is exempt.
ASKED = "ratelimit.asked"


def default_policy(path: str) -> str | None:
    """The policy of the longest prefix in RATE_LIMIT_PREFIXES; None leaves the path alone."""
    fitting = [prefix for prefix in settings.RATE_LIMIT_PREFIXES if path.startswith(prefix)]
    name: str | None = settings.RATE_LIMIT_PREFIXES[max(fitting, key=len)] if fitting else None
    return name


class RateLimitMiddleware:
    """Stands below AuthenticationMiddleware and asks before the address is looked up, so that one
    where nothing is counts too. A view's own `@limit` is asked in addition."""

    sync_capable = True
    async_capable = True

    def __init__(
        self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]
    ) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if self.is_async:
            return self._respond(request)
        name = _policy_to_ask(request)
        decision = requests.check(request, name) if name else _asked_before(request)
        if decision is not None and not decision.allowed:
            return answers.refusal(request, decision)
        response: Any = self.get_response(request)
        requests.finish(request, response)
        return response

    async def _respond(self, request: HttpRequest) -> HttpResponseBase:
        name = _policy_to_ask(request)
        decision = await requests.acheck(request, name) if name else _asked_before(request)
        if decision is not None and not decision.allowed:
            return answers.refusal(request, decision)
        response: Any = await self.get_response(request)  # type: ignore[misc]
        requests.finish(request, response)
        return response  # type: ignore[no-any-return]


def _scope(request: HttpRequest) -> dict[str, Any]:
    scope: dict[str, Any] = getattr(request, "scope", {})
    return scope


def _policy_to_ask(request: HttpRequest) -> str | None:
    return None if ASKED in _scope(request) else default_policy(request.path_info)


def _asked_before(request: HttpRequest) -> Decision | None:
    """What the gate in front decided: shown in the headers like any other."""
    decision: Decision | None = _scope(request).get(ASKED)
    if decision is not None:
        requests.decisions(request).append(decision)
    return decision
