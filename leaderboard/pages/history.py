"""Past seasons: the list with podiums, and the final standings of each. SQL only."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from config.web.paging import Pages
from config.web.streams import streamed
from leaderboard import presentation
from leaderboard.files import standings
from leaderboard.models import Board, Season
from leaderboard.pages.parameters import (
    find_board,
    page_number,
    pages_of,
    search_text,
    searches,
)
from leaderboard.presentation import Line
from leaderboard.seasons import history
from ratelimit.decorators import limit
from sessions_app.outages import readable_without_session

SEASONS_PER_PAGE = 50


@require_safe
@readable_without_session
def seasons(request: HttpRequest, slug: str) -> HttpResponse:
    board = find_board(request, slug)
    past = history.season_list(board)
    pages = pages_of(request, page_number(request), size=len(past), per_page=SEASONS_PER_PAGE)
    shown = past[(pages.number - 1) * SEASONS_PER_PAGE : pages.number * SEASONS_PER_PAGE]
    context = {
        "board": board,
        "seasons": [
            season | {"podium": [_line(board, row) for row in season["podium"]]} for season in shown
        ],
        "running": Season.objects.filter(board=board, state=Season.State.OPEN).first(),
        "pages": pages,
    }
    return render(request, "leaderboard/seasons.html", context)


@require_safe
@readable_without_session
@limit("search", when=searches)
@limit("export", when=lambda request: request.GET.get("format") == "csv")
def season(request: HttpRequest, slug: str, number: int) -> HttpResponseBase:
    board = find_board(request, slug)
    query = search_text(request)
    page = page_number(request)
    try:
        found = history.season_page(board, number, page=page, search=query)
    except Season.DoesNotExist:
        return _not_archived(board, number)
    if request.GET.get("format") == "csv":
        name = f"{board.slug}-{slugify(found.season.title) or number}.csv"
        rows = standings.written(standings.public_entries(found.season), "csv")
        return streamed(request, rows, "text/csv; charset=utf-8", name)
    pages = Pages(request, found.page, found.pages)
    if page != found.page:
        return HttpResponseRedirect(pages.url(found.page))
    context = {
        "board": board,
        "season": found.season,
        "rows": [_line(board, row) for row in found.rows],
        "podium": [_line(board, row) for row in found.podium],
        "query": query,
        "pages": pages,
        "total": found.total,
    }
    return render(request, "leaderboard/season.html", context)


def _not_archived(board: Board, number: int) -> HttpResponse:
    """Redirect to the board if the season is running or being archived, otherwise 404."""
    state = Season.objects.filter(board=board, number=number).values_list("state", flat=True)
    if state and state[0] in {Season.State.OPEN, Season.State.CLOSING}:
        return HttpResponseRedirect(board.get_absolute_url())
    raise Http404(f"{board.name} has no season {number} with standings.")


def _line(board: Board, row: dict[str, Any]) -> Line:
    return presentation.line(board, history.entry_of(row))
