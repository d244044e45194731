"""The home page: every board that the reader may see, each with its leaders."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from config.web.paging import Pages
from leaderboard import presentation
from leaderboard.access.listing import listed_boards
from leaderboard.boards import final, standings
from leaderboard.boards.standings import Glance
from leaderboard.models import Board
from leaderboard.models.season import season_title
from leaderboard.seasons.pointer import Pointer
from sessions_app import visits

LEADERS = 3


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    listed = listed_boards(request.user, request.GET.get("page", "1"))
    visits.record(request)
    glances, online, visitors = standings.glances(listed.boards, LEADERS)
    context = {
        "cards": [_card(board, glances[board.slug]) for board in listed.boards],
        "pages": Pages(request, listed.number, listed.last),
        "online": online,
        "visitors": visitors,
        "live_url": f"{reverse('live_home')}?page={listed.number}",
    }
    return render(request, "leaderboard/home.html", context)


def _card(board: Board, glance: Glance) -> dict[str, Any]:
    top = glance.top
    if final.is_over(top):
        top = final.page(board, top, per_page=LEADERS)
    return {
        "board": board,
        "leaders": [presentation.line(board, entry) for entry in top.page.entries],
        "season": top.pointer,
        "season_name": season_name(board, top.pointer),
        "size": top.page.size,
        "watching": glance.watching,
        "visitors": glance.visitors,
    }


def season_name(board: Board, pointer: Pointer | None) -> str:
    if pointer is None:
        return ""
    # Redis starts a season; its row in SQL follows a moment later.
    name, period = (getattr(board, field, None) for field in ("season_name", "season_period"))
    return season_title(name or "", period or "", pointer.number)
