"""A limit for each address prefix, and the headers of every limit that was met."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from ratelimit import answers, requests
from ratelimit.decision import Decision

# In an ASGI scope: what the gate decided; None for a caller who is exempt.
GATE_DECISION = "ratelimit.decision"


def default_policy(path: str) -> str | None:
    """The policy of the longest prefix in RATE_LIMIT_PREFIXES; None leaves the path alone."""
    fitting = [prefix for prefix in settings.RATE_LIMIT_PREFIXES if path.startswith(prefix)]
    name: str | None = settings.RATE_LIMIT_PREFIXES[max(fitting, key=len)] if fitting else None
    return name


class RateLimitMiddleware:
    """Belongs below AuthenticationMiddleware. Charges a request before its address is looked up, so
    that unknown addresses count too. A view's own `@limit` comes in addition."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        decision = _decide(request)
        if decision is not None and not decision.allowed:
            return answers.refusal(request, decision)
        response = self.get_response(request)
        requests.finish(request, response)
        return response


def _decide(request: HttpRequest) -> Decision | None:
    scope: dict[str, Any] = getattr(request, "scope", {})
    if GATE_DECISION not in scope:
        name = default_policy(request.path_info)
        return requests.check(request, name) if name else None
    decision: Decision | None = scope[GATE_DECISION]
    if decision is not None:  # shown in the headers like any other
        requests.decisions(request).append(decision)
    return decision
