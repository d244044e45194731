"""The addresses of the live streams, which `leaderboard.live.lane` serves before Django: a request
that arrives here was refused there."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from ratelimit.decorators import limit


@require_safe
@limit("live_stream")
def not_found(request: HttpRequest, slug: str = "") -> HttpResponse:
    raise Http404("No stream.")


@require_safe
@limit("live_stream")
def forbidden(request: HttpRequest) -> HttpResponse:
    raise PermissionDenied
