"""A player's notices: looked at, they are read."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from leaderboard import notices
from leaderboard.selectors import people


@require_safe
def unread(request: HttpRequest) -> HttpResponse:
    """The number beside “Notices”, asked again now and then by pages without a live stream."""
    return render(request, "components/unread.html")


@never_cache
@login_required
@require_safe
def notice_list(request: HttpRequest) -> HttpResponse:
    player_id = people.player_id_of(request.user)
    found = notices.latest(player_id) if player_id else []
    # Shown once as unread; a page that is only fetched ahead marks nothing.
    if found and player_id and request.method == "GET":
        notices.mark_read(player_id, found[0].id)
    return render(request, "leaderboard/notices.html", {"notices": found, "player_id": player_id})
