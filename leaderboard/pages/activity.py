"""Recent activity: of one board for its readers, of all boards for staff."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from leaderboard.access import rights
from leaderboard.notices import activity
from leaderboard.pages.parameters import find_board

ON_A_BOARD = 8
EVERYWHERE = 20


@require_safe
def board_activity(request: HttpRequest, slug: str) -> HttpResponse:
    """A part of the board's page, loaded separately."""
    board = find_board(request, slug)
    context = {"board": board, "activity": activity.latest(board, ON_A_BOARD)}
    return render(request, "leaderboard/board_activity.html", context)


@never_cache
@login_required
@require_safe
def all_activity(request: HttpRequest) -> HttpResponse:
    """A part of the operations page."""
    if not rights.is_staff_with(request.user, "view_board"):
        raise PermissionDenied
    context = {"activity": activity.latest_everywhere(EVERYWHERE), "with_board": True}
    return render(request, "ops/activity.html", context)
