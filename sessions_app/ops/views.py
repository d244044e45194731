"""`/ops/`, for staff."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from sessions_app import ops


@never_cache
@login_required
@require_safe
def operations(request: HttpRequest) -> HttpResponse:
    if not request.user.is_staff:
        raise PermissionDenied
    sections = ops.sections()
    warnings = [(section, fact) for section in sections for fact in section.warnings]
    context: dict[str, Any] = {"sections": sections, "warnings": warnings, "kept": int(ops.KEPT)}
    live = ops.live_part()
    if live is not None and request.user.has_perm(live.permission):
        context |= {"live_url": reverse(live.stream), "live_part_url": reverse(live.address)}
    return render(request, "ops/operations.html", context)
