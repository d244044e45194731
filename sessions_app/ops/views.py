"""`/ops/`, for staff."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
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
    context = {"sections": sections, "warnings": warnings, "kept": int(ops.KEPT)}
    return render(request, "ops/operations.html", context)
