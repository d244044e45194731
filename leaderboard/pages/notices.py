"""A player's notices. Opening the page marks them as read."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from leaderboard.access import people
from leaderboard.notices import delivery


@never_cache
@login_required
@require_safe
def notice_list(request: HttpRequest) -> HttpResponse:
    player_id = people.player_id_of(request.user)
    found = delivery.latest(player_id) if player_id else []
    # Notices are shown once as unread. A HEAD request marks nothing.
    if found and player_id and request.method == "GET":
        delivery.mark_read(player_id, found[0].id)
    return render(request, "leaderboard/notices.html", {"notices": found, "player_id": player_id})
