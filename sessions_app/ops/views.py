"""`/ops/`, for staff, and `/metrics`, for machines."""

from __future__ import annotations

import os
import secrets
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from config.web import measures
from config.web.errors import error_response
from ratelimit import callers
from sessions_app import ops

FORWARDED = ("X-Forwarded-For", "Forwarded")


@never_cache
@login_required
@require_safe
def operations(request: HttpRequest) -> HttpResponse:
    if not request.user.is_staff:
        raise PermissionDenied
    sections = [section.shown_to(request.user) for section in ops.sections()]
    warnings = [(section, fact) for section in sections for fact in section.warnings]
    context: dict[str, Any] = {"sections": sections, "warnings": warnings, "kept": int(ops.KEPT)}
    live = ops.live_part()
    if live is not None and request.user.has_perm(live.permission):
        context |= {"live_url": reverse(live.stream), "live_part_url": reverse(live.address)}
    return render(request, "ops/operations.html", context)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus text. With several processes, the sum over all of them."""
    if not (_has_token(request) or _is_this_machine(request)):
        return error_response(
            request,
            403,
            "metrics_token_required",
            gettext(
                "Metrics are available from this machine, or with METRICS_TOKEN as a bearer token."
            ),
        )
    measures.take_all()
    registry = REGISTRY
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _has_token(request: HttpRequest) -> bool:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return (
        bool(settings.METRICS_TOKEN)
        and scheme.lower() == "bearer"
        and secrets.compare_digest(token.strip().encode(), settings.METRICS_TOKEN.encode())
    )


def _is_this_machine(request: HttpRequest) -> bool:
    """False behind a proxy that TRUSTED_PROXIES does not count: everybody would be local."""
    if not settings.TRUSTED_PROXIES and any(name in request.headers for name in FORWARDED):
        return False
    try:
        return ip_address(callers.client_ip(request)).is_loopback
    except ValueError:
        return False
