"""The answer to a refused call: a page that counts down, or problem+json."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from config.web.errors import service_unavailable
from config.web.problems import problem_body, problem_response, wants_problem
from ratelimit import headers
from ratelimit.decision import Decision, Reason

STATUS = 429
CODE = "rate_limited"


def refusal(request: HttpRequest, decision: Decision) -> HttpResponse:
    """429 for a limit or a block; 503 when Redis is away and the policy is closed then."""
    if decision.reason is Reason.OUTAGE:
        return service_unavailable(request)
    values = headers.values([decision]) | {"Cache-Control": "no-store"}
    if wants_problem(request):
        return problem_response(STATUS, CODE, detail(decision), values, **problem_extra(decision))
    context = {"detail": detail(decision), "retry_after": _retry_after(decision)}
    page = render_to_string("errors/429.html", context, request)
    return HttpResponse(page, status=STATUS, headers=values)


def problem(decision: Decision) -> dict[str, Any]:
    """The body of a 429 for code without a Django request."""
    return problem_body(STATUS, CODE, detail(decision), **problem_extra(decision))


def problem_extra(decision: Decision) -> dict[str, Any]:
    return {
        "type": headers.problem_type(decision),
        "violated-policies": headers.violated(decision),
        "retry_after": _retry_after(decision),
    }


def detail(decision: Decision) -> str:
    """A sentence for a person: how long to wait."""
    seconds = _retry_after(decision)
    if seconds < 120:
        wait = ngettext("%(number)d second", "%(number)d seconds", seconds) % {"number": seconds}
    else:
        minutes = -(-seconds // 60)
        wait = ngettext("%(number)d minute", "%(number)d minutes", minutes) % {"number": minutes}
    return _("Too many requests. Try again in %(wait)s.") % {"wait": wait}


def add_headers(response: HttpResponseBase, decisions: list[Decision]) -> None:
    """Show the caller the state of the limits of this request."""
    for name, value in headers.values(decisions).items():
        response[name] = value


def _retry_after(decision: Decision) -> int:
    return headers.retry_after(decision.retry_after)
