"""The first page: every board that the reader may see, each with its leaders."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from config.paging import Pages
from leaderboard import presentation, selectors
from leaderboard.models import Board
from leaderboard.pointer import Pointer
from leaderboard.presentation import Line
from leaderboard.selectors import standings
from leaderboard.selectors.standings import Glance
from sessions_app import visits

LEADERS = 3
PER_PAGE = 30


@dataclass(frozen=True, slots=True)
class Card:
    """A board on the first page."""

    board: Board
    leaders: list[Line]
    season: Pointer | None
    season_name: str
    size: int
    watching: int
    visitors: int


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    boards = selectors.visible_boards(request.user)
    total = boards.count()
    text = request.GET.get("page", "1")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1
    last = max(1, -(-total // PER_PAGE))
    pages = Pages(request, min(max(number, 1), last), last)
    first = (pages.number - 1) * PER_PAGE
    shown = list(boards[first : first + PER_PAGE])
    visits.record(request)
    glances, online, visitors = standings.glances(shown, LEADERS)
    context = {
        "cards": [_card(board, glances[board.slug]) for board in shown],
        "pages": pages,
        "online": online,
        "visitors": visitors,
    }
    return render(request, "leaderboard/home.html", context)


def _card(board: Board, glance: Glance) -> Card:
    top = glance.top
    return Card(
        board,
        [presentation.line(board, entry) for entry in top.page.entries],
        top.pointer,
        season_name(board, top.pointer),
        top.page.size,
        glance.watching,
        glance.visitors,
    )


def season_name(board: Board, pointer: Pointer | None) -> str:
    if pointer is None:
        return ""
    name: str | None = getattr(board, "season_name", None)
    # Redis turns the season; its row in SQL follows a moment later.
    return presentation.season_text(name or f"Season {pointer.number}")
